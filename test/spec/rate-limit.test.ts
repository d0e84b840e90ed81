/** The limit of sales and the budget of a client address, on the whole service (contract 6.2). */
import { expect } from 'chai'
import { expectRefusal, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { buyOverTransports, messageBody, type Ask, type Operation } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

const LOOKUP = { operation: 'lookup', input: { company_number: '00000000' } }
const batch = (count: number, company_number = '00000000') => ({
  operation: 'batch',
  input: { operation: 'lookup', inputs: Array.from({ length: count }, () => ({ company_number })) },
})

function expectLimited(reply: RawReply): void {
  expectRefusal(reply, 'rate_limited')
  expect(Number(reply.headers['retry-after'])).to.be.within(1, 61)
}

describe('the limit of sales', () => {
  let service: TestService
  let ahead = 0

  beforeEach(async () => {
    ahead = 0
    service = await startTestService({
      environment: { RATE_LIMIT_PER_MINUTE: '3' },
      now: () => new Date(Date.now() + ahead),
      clock: () => performance.now() + ahead,
    })
  })
  afterEach(() => service.stop())

  const { lookup, rest, a2a, payFor } = buyOverTransports(() => service)
  const paymentsFor = (ask: Ask, count: number) => Promise.all(Array.from({ length: count }, () => payFor(ask())))
  const overRest = (payment?: string) => lookup('00000000', payment)
  const overA2a = (payment?: string) => a2a(LOOKUP, payment)

  it('[6.2.1] counts sales over REST and A2A together, and neither quotes nor replays', async () => {
    for (const reply of [await overA2a(), await overA2a()]) expectRefusal(reply, 'payment_required')
    const [first, second, third, fourth] = await paymentsFor(overRest, 4)
    const sold = [await overRest(first), await overA2a(second), await overRest(third)]
    expect(sold.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    const before = await service.paid()
    expectLimited(await overRest(fourth))
    expectLimited(await overA2a(fourth))
    expect(await service.paid()).to.deep.equal(before)
    for (const payment of [first, second, third]) {
      expect((await overRest(payment)).status).to.equal(200)
      expect((await overA2a(payment)).status).to.equal(200)
    }
    expectRefusal(await overRest(), 'payment_required')
    ahead = 61_000
    expect((await overRest(fourth)).status).to.equal(200)
  })

  it('[4.11.5, 6.2.1] counts a batch as one sale', async () => {
    const ask = (payment?: string) => rest(batch(100), payment)
    const [first, second, third] = await paymentsFor(ask, 3)
    const single = await payFor(overRest())
    for (const payment of [first, second]) expect((await ask(payment)).status).to.equal(200)
    expect((await overRest(single)).status).to.equal(200)
    expectLimited(await ask(third))
    expect((await ask(first)).status).to.equal(200)
    ahead = 61_000
    expect((await ask(third)).status).to.equal(200)
  })
})

describe('the budget of a client address', () => {
  let ahead = 0

  // A minute passes, so that each test begins with full budgets.
  beforeEach(() => void (ahead += 122_000))

  const { get, lookup, rest, a2a, mcp, payFor } = useService(() =>
    startTestService({
      environment: { TRUST_PROXY: '1' },
      configure: (config) => ({ ...config, addressBudget: 6 }),
      clock: () => performance.now() + ahead,
    }),
  )
  const forwarded = (address: string) => ({ 'X-Forwarded-For': `198.51.100.1, ${address}` })
  const restFrom = (address: string, payment?: string) => lookup('00000000', payment, { headers: forwarded(address) })
  const a2aFrom = (address: string) => a2a(LOOKUP, undefined, 1, forwarded(address))
  const codeOverMcp = async (address: string) => {
    const { status, json } = await mcp(LOOKUP, undefined, forwarded(address))
    return status === 429 ? 'rate_limited' : (json['error'] as { code: string }).code
  }

  it('[6.2.2, 6.2.7] is spent by quotes over all transports, and is that of a /64 prefix', async () => {
    for (const each of ['1', '2']) {
      expectRefusal(await restFrom(`2001:db8::${each}`), 'payment_required')
      expectRefusal(await a2aFrom(`2001:db8::${each}`), 'payment_required')
      expect(await codeOverMcp(`2001:db8::${each}`)).to.equal('payment_required')
    }
    expectLimited(await restFrom('2001:db8::3'))
    expectLimited(await a2aFrom('2001:db8::4'))
    for (const reply of [await restFrom('192.0.2.1'), await a2aFrom('::ffff:192.0.2.1')])
      expectRefusal(reply, 'payment_required')
    ahead += 61_000
    expectRefusal(await restFrom('2001:db8::3'), 'payment_required')
  })

  /** The quotes of a batch that an address gets for its six units. */
  const QUOTES: [items: number, quotes: number][] = [
    [1, 6],
    [9, 6],
    [10, 3],
    [19, 3],
    [20, 2],
    [50, 1],
    [59, 1],
    [60, 0],
  ]
  for (const [items, quotes] of QUOTES)
    it(`[4.11.5, 6.2.2] is enough for ${quotes} quotes of a batch of ${items}`, async () => {
      for (const ask of [rest, (each: Operation) => a2a(each)]) {
        for (let quote = 0; quote < quotes; quote += 1) expectRefusal(await ask(batch(items)), 'payment_required')
        expectLimited(await ask(batch(items)))
        ahead += 61_000
      }
    })

  it('[4.11.5, 6.2.2] is spent by a refused batch: five units, and one for every ten items', async () => {
    const ask = (count: number, payment?: string) => rest(batch(count, '999'), payment)
    for (const [items, left] of [
      [9, 1],
      [10, 0],
      [19, 0],
    ] as const) {
      const payment = await payFor(ask(items))
      ahead += 61_000
      expectRefusal(await ask(items, payment), 'company_not_found')
      for (let quote = 0; quote < left; quote += 1) expectRefusal(await restFrom('127.0.0.1'), 'payment_required')
      expectLimited(await lookup('00000000'))
      ahead += 61_000
    }
    const payment = await payFor(ask(20))
    ahead += 61_000
    expectLimited(await ask(20, payment))
  })

  it('[6.2.2] is spent by protocol calls, and not by free documents', async () => {
    for (let attempt = 0; attempt < 8; attempt += 1) expect((await get('/api/v1/meta')).status).to.equal(200)
    const text = messageBody({ parts: [{ text: 'hello' }] })
    for (let attempt = 0; attempt < 6; attempt += 1) expect((await a2a(text)).status).to.equal(200)
    expectLimited(await a2a(text))
    // The first call without a budget is admitted as a look-up, because the payment is in the body.
    expect(await codeOverMcp('127.0.0.1')).to.equal('rate_limited')
    expect(await codeOverMcp('127.0.0.1')).to.equal('rate_limited')
  })

  it('[6.2.3] is given back after a sale and a replay, so an address sells more than its budget in a minute', async () => {
    const unpaid = restFrom('192.0.2.1')
    const payments = await Promise.all(Array.from({ length: 3 }, () => payFor(unpaid)))
    for (const payment of payments)
      for (const time of ['sale', 'replay'])
        expect([time, (await restFrom('192.0.2.1', payment)).status]).to.deep.equal([time, 200])
  })

  it('[6.2.8] still answers a replay of an address whose budget is spent, every two seconds', async () => {
    const unpaid = restFrom('192.0.2.1')
    const payment = await payFor(unpaid)
    const next = await payFor(unpaid)
    expect((await restFrom('192.0.2.1', payment)).status).to.equal(200)
    for (let attempt = 0; attempt < 6; attempt += 1) await restFrom('192.0.2.1')
    expectLimited(await restFrom('192.0.2.1'))
    expect((await restFrom('192.0.2.1', payment)).status).to.equal(200)
    // The replay gave nothing back, because it cost nothing.
    expectLimited(await restFrom('192.0.2.1', payment))
    ahead += 2_000
    expectLimited(await restFrom('192.0.2.1', next))
    ahead += 2_000
    expect((await restFrom('192.0.2.1', payment)).status).to.equal(200)
  })
})

describe('a proxy that is not trusted', () => {
  it('[6.2.7] is reported once, because its clients share one budget', async () => {
    const service = await startTestService()
    const { lookup } = buyOverTransports(() => service)
    for (let attempt = 0; attempt < 3; attempt += 1)
      await lookup('00000000', undefined, { headers: { 'X-Forwarded-For': '192.0.2.1' } })
    expect(service.reports.filter(([event]) => event === 'proxy_not_trusted')).to.have.lengthOf(1)
    await service.stop()
  })
})
