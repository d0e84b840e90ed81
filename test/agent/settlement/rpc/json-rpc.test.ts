/** Every reply that is not a valid JSON-RPC reply to the call is an error. */
import { createServer, type ServerResponse } from 'node:http'
import { json as readBody } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { openRpc } from '../../../../agent/settlement/rpc/json-rpc.ts'
import { RateLimited } from '../../../../agent/settlement/rpc/post-json.ts'
import { listen, type ListeningServer } from '../../../support/listen.ts'

interface Call {
  id: number
  method: string
}

const REPLIES: [name: string, reply: (call: Call, response: ServerResponse) => unknown, error: string][] = [
  ['another id', ({ id }) => ({ jsonrpc: '2.0', id: id + 1, result: '0x1' }), 'OTHER_ID'],
  ['a string id', ({ id }) => ({ jsonrpc: '2.0', id: String(id), result: '0x1' }), 'NOT_JSON_RPC'],
  ['no id', () => ({ jsonrpc: '2.0', result: '0x1' }), 'NOT_JSON_RPC'],
  ['an array', ({ id }) => [{ jsonrpc: '2.0', id, result: '0x1' }], 'NOT_JSON_RPC'],
  ['JSON-RPC 1.0', ({ id }) => ({ id, result: '0x1' }), 'NOT_JSON_RPC'],
  ['neither result nor error', ({ id }) => ({ jsonrpc: '2.0', id }), 'NOT_JSON_RPC'],
  [
    'result and error',
    ({ id }) => ({ jsonrpc: '2.0', id, result: '0x1', error: { code: 1, message: 'x' } }),
    'NOT_JSON_RPC',
  ],
  ['an error', ({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'no' } }), '-32000'],
  ['a duplicate name', ({ id }) => `{"jsonrpc":"2.0","id":${id},"result":"0x1","result":"0x2"}`, 'DUPLICATE_NAME'],
  ['HTML', () => '<html>', 'NOT_JSON'],
  ['more than 1 MiB', ({ id }) => ({ jsonrpc: '2.0', id, result: 'x'.repeat(1_048_576) }), 'TOO_LARGE'],
]

describe('the JSON-RPC client', () => {
  let answer: (call: Call, response: ServerResponse) => unknown = () => ''
  const methods: string[] = []
  const server = createServer(async (request, response) => {
    const call = (await readBody(request)) as Call
    methods.push(call.method)
    const reply = answer(call, response)
    if (reply !== undefined) response.end(typeof reply === 'string' ? reply : JSON.stringify(reply))
  })
  let listening: ListeningServer
  let url: string

  before(async () => {
    listening = await listen(server)
    url = listening.url
  })
  beforeEach(() => void methods.splice(0))
  after(() => listening.close())

  const codeOf = (cause: unknown) =>
    cause instanceof Error && 'code' in cause ? String(cause.code) : cause instanceof Error ? cause.name : 'answered'
  const ask = () => openRpc({ url, timeoutMs: 5_000 })('eth_blockNumber').then(() => 'answered', codeOf)

  for (const [name, reply, error] of REPLIES) {
    it(`rejects a reply with ${name}`, async () => {
      answer = reply
      expect(await ask()).to.equal(error)
      expect(methods).to.have.lengthOf(1)
    })
  }

  for (const body of ['slow down', '{"jsonrpc":"2.0","id":1,"error":{"code":429,"message":"compute units"}}'])
    it(`tells a limit of the rate from other errors, and the time to wait: ${body.slice(0, 9)}`, async () => {
      answer = (_call, response) => void response.writeHead(429, { 'Retry-After': '2' }).end(body)
      const cause = await openRpc({ url, timeoutMs: 5_000 })('eth_blockNumber').catch((error: unknown) => error)
      expect(cause).to.be.instanceOf(RateLimited).and.include({ code: 'STATUS_429', waitMs: 2_000 })
      expect(methods).to.have.lengthOf(1)
    })

  it('keeps the URL out of errors', async () => {
    const cause = await openRpc({ url: 'http://127.0.0.1:2/secret-key', timeoutMs: 5_000 })('eth_blockNumber').catch(
      (error: unknown) => error,
    )
    expect(inspect(cause, { depth: 9, showHidden: true }))
      .to.contain('ECONNREFUSED')
      .and.to.not.contain('secret-key')
  })
})
