/** What a node says about an authorization of the buyer. */
import { expect } from 'chai'
import { openAuthorizationCheck } from '../../../buyer/library/authorization-state.ts'

const URL = 'https://node.example'
const ASSET = `0x${'aa'.repeat(20)}`
const AUTHORIZATION = { from: `0x${'bb'.repeat(20)}`, nonce: `0x${'cc'.repeat(32)}`, validBefore: '1000' } as const

const UNUSED = `0x${'0'.repeat(64)}`
const USED = `0x${'0'.repeat(63)}1`
const BALANCE_OF = '0x70a08231'

/** A node whose final block has this time, and in which the state of the authorization is this word. */
function nodeWith(time: number, word: unknown, balance = '0x') {
  const requests: { method: string; params: unknown[] }[] = []
  const fetch = (async (_url, init) => {
    const request = JSON.parse(init?.body as string) as (typeof requests)[number]
    requests.push(request)
    const block = { number: '0x10', timestamp: `0x${time.toString(16)}` }
    const isBalance = JSON.stringify(request.params).includes(BALANCE_OF)
    const result = isBalance ? balance : word
    return Response.json({ jsonrpc: '2.0', id: 1, result: request.method === 'eth_call' ? result : block })
  }) as typeof globalThis.fetch
  return { requests, read: openAuthorizationCheck(fetch, { url: URL, asset: ASSET }) }
}

describe('the check of an authorization on chain', () => {
  it('says that an expired and unused authorization has ended, at the block that it read', async () => {
    const { requests, read } = nodeWith(1000, UNUSED)
    expect(await read(AUTHORIZATION)).to.equal('ended')
    const data = `0xe94a0102${'bb'.repeat(20).padStart(64, '0')}${'cc'.repeat(32)}`
    expect(requests.map(({ method }) => method)).to.deep.equal(['eth_getBlockByNumber', 'eth_call'])
    expect(requests.map(({ params }) => params)).to.deep.equal([
      ['finalized', false],
      [{ to: ASSET, data }, '0x10'],
    ])
  })

  const balance = `0x${(1000).toString(16).padStart(64, '0')}`
  for (const [state, time, word, amount] of [
    ['used', 1000, USED, 1000],
    ['used', 999, USED, 1000],
    ['open', 999, UNUSED, 1000],
    ['unfunded', 999, UNUSED, 1001],
  ] as const)
    it(`is ${state} at ${time} s if the price is ${amount}`, async () => {
      expect(await nodeWith(time, word, balance).read(AUTHORIZATION, amount)).to.equal(state)
    })

  it('rejects if the node answers no word', async () => {
    for (const word of ['0x', null, '0x1', undefined]) {
      const failure = await nodeWith(1000, word)
        .read(AUTHORIZATION)
        .catch((cause: unknown) => cause)
      expect(failure).to.be.instanceOf(Error)
    }
  })
})
