/** Each limit of an input or a body, on the whole service: below, at and above its bounds. */
import { expect } from 'chai'
import { buyOverTransports, messageBody, rpcBody } from '../support/transports.ts'
import { startFakedService, type FakedService } from '../support/faked-service.ts'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { useService } from '../support/use-service.ts'

const HOUR_MS = 3_600_000

const LOOKUP = { operation: 'lookup', input: { company_number: '1' } }

/** inputs.test.ts has the lengths of texts and Eircodes. */
describe('[4.1.1, 4.2.1, 4.3.1, 4.5.1, 4.5.2, 4.11.1] the limits of the contract', () => {
  const { get, lookup, search, resolve, rest, a2a, mcp, buy } = useService(() => startFakedService())
  const message = (change: object) => a2a(messageBody({ parts: [{ text: 'a' }], ...change }))
  const overA2a = (operation: string, input: object) => a2a({ operation, input })

  const INPUTS = {
    lookup: { company_number: '1' },
    as_of: { company_number: '1', date: '2026-01-01' },
    resolve: { name: 'abc' },
  }
  const batch = (operation: keyof typeof INPUTS, count: number) => ({
    operation: 'batch',
    input: { operation, inputs: Array.from({ length: count }, () => INPUTS[operation]) },
  })

  const digits = (count: number) => '7'.repeat(count)
  const letters = (count: number) => 'a'.repeat(count)
  const padded = (count: number) => '{"name":"abc"}'.padEnd(count)

  /** The bounds of each limit, and a request of a given size. A quote or a free Message means accepted. */
  const LIMITS: [row: string, min: number, max: number, ask: (count: number) => Promise<RawReply>][] = [
    ['company_number of a lookup', 1, 20, (n) => lookup(digits(n))],
    ['company_number of a lookup over A2A', 1, 20, (n) => overA2a('lookup', { company_number: digits(n) })],
    ['company_number of a resolve', 1, 20, (n) => resolve({ company_number: digits(n) })],
    ['search limit', 1, 10, (n) => search(`q=abc&limit=${n}`)],
    ['search limit over A2A', 1, 10, (n) => overA2a('search', { q: 'abc', limit: n })],
    ['status filter', 1, 80, (n) => search(`q=abc&status=${letters(n)}`)],
    ['resolve JSON body in bytes', 14, 4096, (n) => resolve(n < 14 ? padded(14).slice(0, n) : padded(n))],
    ...Object.entries({ REST: rest, A2A: a2a, MCP: mcp }).flatMap(([transport, ask]) =>
      (
        [
          ['lookup', 100],
          ['as_of', 100],
          ['resolve', 25],
        ] as const
      ).map(([operation, max]): (typeof LIMITS)[number] => [
        `batch inputs of ${operation} over ${transport}`,
        1,
        max,
        (n) => ask(batch(operation, n)),
      ]),
    ),
    ['A2A request body in bytes', 1, 16_384, (n) => a2a(n === 0 ? '' : rpcBody(LOOKUP).padEnd(n))],
    ['A2A message parts', 1, 1, (n) => message({ parts: Array.from({ length: n }, () => ({ text: 'a' })) })],
    ['A2A messageId in bytes', 1, 128, (n) => message({ messageId: letters(n) })],
    ['reputation limit', 1, 10, (n) => get(`/api/v1/reputation?client=0x${'a'.repeat(40)}&limit=${n}`)],
  ]

  const isAccepted = ({ status, json }: RawReply) => status === 402 || (status === 200 && json['error'] === undefined)

  for (const [row, min, max, ask] of LIMITS) {
    it(`${row}: ${min} to ${max}`, async () => {
      for (const count of [min, max]) {
        const reply = await ask(count)
        expect(isAccepted(reply), `${count}: ${reply.text.slice(0, 200)}`).to.equal(true)
      }
      for (const count of [min - 1, max + 1]) {
        const reply = await ask(count)
        expect(isAccepted(reply), String(count)).to.equal(false)
        expect(reply.status).to.be.oneOf([200, 400, 413])
      }
    })
  }

  it('[4.2.1] uses a search limit of 5 by default', async () => {
    const { json } = await buy((payment) => search('q=abc', payment))
    expect(json['query']).to.deep.equal({ q: 'abc', limit: 5 })
  })

  it('[4.5.2] measures messageId in bytes and texts in characters', async () => {
    expect(isAccepted(await message({ messageId: 'é'.repeat(64) }))).to.equal(true)
    expect(isAccepted(await message({ messageId: 'é'.repeat(65) }))).to.equal(false)
    expect(isAccepted(await resolve({ name: 'é'.repeat(160) }))).to.equal(true)
  })
})

describe('the limits over time', () => {
  let time = 0
  const began = Date.now()
  let service: FakedService
  beforeEach(async () => {
    time = 0
    const environment = { RATE_LIMIT_PER_MINUTE: undefined }
    service = await startFakedService({ environment, clock: () => time, now: () => new Date(began + time) })
  })
  afterEach(() => service.stop())

  const { get, lookup, search, resolve, a2a, payFor } = buyOverTransports(() => service)
  const requests = [() => lookup('73848'), () => search('q=abc'), () => resolve({ name: 'abc' }), () => a2a(LOOKUP)]

  it('[6.2.2] admit 300 quotes a minute of an address over all routes, then answer 429', async () => {
    for (let round = 0; round < 75; round += 1)
      for (const ask of requests) expectRefusal(await ask(), 'payment_required')
    for (const ask of requests) {
      const reply = await ask()
      expectRefusal(reply, 'rate_limited')
      expect(reply.headers['retry-after']).to.equal('61')
    }
    time = 60_999
    expectRefusal(await lookup('73848'), 'rate_limited')
    time = 61_000
    expectRefusal(await lookup('73848'), 'payment_required')
  })

  it('[6.2.1] admit 120 sales a minute, then answer 429', async () => {
    const unpaid = lookup('73848')
    const buy = async () => (await lookup('73848', await payFor(unpaid))).status
    for (let sale = 1; sale <= 120; sale += 1) expect([sale, await buy()]).to.deep.equal([sale, 200])
    expect(await buy()).to.equal(429)
    expect(service.counts()).to.deep.equal({ settled: 120, recorded: 121 })
  })

  it('[2.9, 3.1] sell data until 72 hours after the last retrieval', async () => {
    const status = async () => (await get('/api/v1/meta')).json['dataset_status']
    for (const [age, code, state] of [
      [72 * HOUR_MS, 'payment_required', 'ready'],
      [72 * HOUR_MS + 1, 'dataset_stale', 'stale'],
    ] as const) {
      time = age
      for (const ask of requests) expectRefusal(await ask(), code)
      expect(await status()).to.equal(state)
    }
  })
})
