/** Stored answers to `tools/list`: equal to those of the SDK for each id, and asked once for each form of the request. */
import { expect } from 'chai'
import { PreparedLists, type McpAnswer } from '../../../agent/mcp/prepared-lists.ts'

const headers = new Headers({ accept: 'application/json' })

describe('the answers to tools/list', () => {
  let asked: unknown[]
  const lists = () => new PreparedLists()
  const ask = async (message: unknown): Promise<McpAnswer> => {
    asked.push(message)
    const { id } = message as { id: unknown }
    return {
      status: 200,
      type: 'application/json',
      text: JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [] } }),
    }
  }

  beforeEach(() => (asked = []))

  it('have the id of their request, and are asked once', async () => {
    const prepared = lists()
    for (const id of [7, 'a "quoted" id', 0, '']) {
      const message = { jsonrpc: '2.0', id, method: 'tools/list' }
      expect((await prepared.answer({ headers, message }, ask)).text).to.equal((await ask(message)).text)
    }
    expect(asked.filter((message) => (message as { id: unknown }).id !== 7)).to.have.lengthOf(4)
  })

  it('are asked again for other headers, parameters and methods, and for each message without a usable id', async () => {
    const prepared = lists()
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const other = new Headers({ accept: 'text/event-stream' })
    const requests = [
      { headers, message },
      { headers: other, message },
      { headers, message: { ...message, params: { cursor: 'x' } } },
      { headers, message: { ...message, method: 'ping' } },
      { headers, message: { ...message, id: null } },
      { headers, message: { ...message, id: 1.5 } },
      { headers, message: { ...message, params: { filler: 'x'.repeat(3_000) } } },
      { headers, message: null },
    ]
    for (const request of requests.slice(0, -1)) await prepared.answer(request, ask)
    expect(asked).to.have.lengthOf(requests.length - 1)
    await prepared.answer(requests.at(-1)!, async () => ({ status: 400, type: null, text: '' }))
    for (const request of requests.slice(0, 3)) await prepared.answer(request, ask)
    expect(asked).to.have.lengthOf(requests.length - 1)
  })

  it('are not stored if they are no success', async () => {
    const prepared = lists()
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const refuse = async (sent: unknown) => ({ ...(await ask(sent)), status: 400 })
    for (const request of [
      { headers, message },
      { headers, message },
    ])
      await prepared.answer(request, refuse)
    expect(asked).to.have.lengthOf(4)
  })
})
