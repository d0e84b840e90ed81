/** First purchases of one address at once and in each minute, with the limits of the default configuration. */
import { expect } from 'chai'
import { requestOverTransports } from '../support/transports.ts'
import { startFakedService, type FakedService } from '../support/faked-service.ts'

describe('the limits over time', () => {
  let time = 0
  let service: FakedService
  /** Settlements that have begun and not ended, and how long each lasts by the clock of the service. */
  let settlements: { endsAt: number; end: () => void }[]
  let settlementMs: number
  const began = Date.now()
  beforeEach(async () => {
    time = 0
    settlements = []
    settlementMs = 0
    service = await startFakedService({
      environment: { RATE_LIMIT_PER_MINUTE: undefined },
      clock: () => time,
      now: () => new Date(began + time),
      beforeSettlement: async () => {
        if (settlementMs > 0)
          await new Promise<void>((end) => void settlements.push({ endsAt: time + settlementMs, end }))
      },
    })
  })
  afterEach(() => service.stop())

  const { lookup } = requestOverTransports(() => service)

  const endSettlements = () => {
    for (const { end } of settlements.filter(({ endsAt }) => endsAt <= time)) end()
    settlements = settlements.filter(({ endsAt }) => endsAt > time)
  }
  /** Asks for a quote and pays, with an authorization that is valid by the clock of the service. */
  const buyFirst = async () => {
    const { headers } = await lookup('73848')
    const validBefore = String(Math.floor((began + time) / 1000) + 300)
    const payment = await service.pay(String(headers['payment-required']), { authorization: { validBefore } })
    return lookup('73848', payment)
  }

  for (const [count, sold, statuses] of [
    [63, 63, { 200: 63 }],
    [64, 64, { 200: 64 }],
    // The quotes of 65 leave too little for 64 payments.
    [65, 63, { 200: 63, 429: 2 }],
  ] as const) {
    it(`[6.2.2, 6.2.4] sell ${sold} of ${count} simultaneous first purchases of one address`, async () => {
      settlementMs = 1
      const quotes = await Promise.all(Array.from({ length: count }, () => lookup('73848')))
      const payments = await Promise.all(quotes.map(({ headers }) => service.pay(String(headers['payment-required']))))
      const sent = payments.map((payment) => lookup('73848', payment))
      const refused = Promise.any(sent)
      while (settlements.length < sold) await new Promise(setImmediate)
      if (count > sold) expect((await refused).headers['retry-after']).to.equal('61')
      time = 1
      endSettlements()
      const counted: Record<number, number> = {}
      for (const { status } of await Promise.all(sent)) counted[status] = (counted[status] ?? 0) + 1
      expect(counted).to.deep.equal(statuses)
    })
  }

  it('[6.2.1, 6.2.3] sell 110 first purchases a minute to one address for two minutes', async () => {
    settlementMs = 10_000
    const sales: ReturnType<typeof lookup>[] = []
    for (let sale = 0; sale < 220; sale += 1) {
      time = Math.round((sale * 60_000) / 110)
      endSettlements()
      const begun = settlements.length
      const bought = buyFirst()
      sales.push(bought)
      const state = { isEnded: false }
      void bought.finally(() => (state.isEnded = true))
      while (settlements.length === begun && !state.isEnded) await new Promise(setImmediate)
    }
    time += settlementMs
    endSettlements()
    const refused = (await Promise.all(sales)).filter(({ status }) => status !== 200)
    expect(refused.map(({ status }) => status)).to.deep.equal([])
    expect(service.counts().settled).to.equal(220)
  })
})
