/** The limit of quotes: at, below and above the limit, over time, and between addresses. */
import { expect } from 'chai'
import { ADDRESSES_MAX, QuoteLimit } from '../../../agent/executor/quote-limit.ts'

const START = Date.parse('2026-01-01T00:00:00.000Z')
const MINUTE_MS = 60_000
const PER_MINUTE = 120

describe('the limit of quotes', () => {
  let time: number

  beforeEach(() => {
    time = START
  })

  const openLimit = (perMinute = PER_MINUTE) => new QuoteLimit({ perMinute, now: () => new Date(time) })
  /** The seconds of `Retry-After`, or 0 when the request got a quote. */
  function ask(limit: QuoteLimit, client = 'one'): number {
    const refused = limit.check(client)
    if (!refused) limit.count(client)
    return refused?.refusal.retryAfterSeconds ?? 0
  }
  /** The number of quotes before the first refusal. */
  function quotesOf(limit: QuoteLimit, client: string): number {
    for (let count = 0; ; count += 1) if (ask(limit, client) > 0) return count
  }

  for (const perMinute of [1, 2, 120, 1_000]) {
    it(`[6.2.5] gives an address ${perMinute} quotes a minute`, () => {
      const limit = openLimit(perMinute)
      for (let minute = 0; minute < 3; minute += 1) {
        time = START + minute * MINUTE_MS
        expect(quotesOf(limit, 'one')).to.equal(perMinute)
        time += MINUTE_MS - 1
        expect(ask(limit)).to.equal(1)
      }
    })
  }

  it('[6.2.4] rounds the wait up to whole seconds', () => {
    const limit = openLimit(2)
    ask(limit)
    time += 10_000
    ask(limit)
    for (const [at, seconds] of [
      [10_000, 50],
      [10_001, 50],
      [11_000, 49],
      [59_999, 1],
    ] as const) {
      time = START + at
      expect(ask(limit), String(at)).to.equal(seconds)
    }
    time = START + MINUTE_MS
    expect(ask(limit)).to.equal(0)
    expect(ask(limit)).to.equal(10)
  })

  it('never gives more than the limit within a minute, and always the limit within 62 seconds', () => {
    const limit = openLimit()
    const quotes: number[] = []
    // Asks every 0.05 to 0.45 s, in an order that does not repeat with the minute.
    for (let step = 0; time < START + 10 * MINUTE_MS; step += 1) {
      if (ask(limit) === 0) quotes.push(time)
      time += 50 + ((step * 7) % 9) * 50
    }
    const within = (from: number, milliseconds: number) =>
      quotes.filter((each) => each > from && each <= from + milliseconds).length
    for (const each of quotes) expect(within(each - MINUTE_MS, MINUTE_MS)).to.be.at.most(PER_MINUTE)
    for (const each of quotes.filter((quote) => quote < START + 8 * MINUTE_MS))
      expect(within(each, MINUTE_MS + 2_000)).to.be.at.least(PER_MINUTE)
  })

  it('does not refuse for more than a minute after the clock was set back, and nothing expires early', () => {
    for (const jump of [1, 30_000, 86_400_000]) {
      const limit = openLimit(2)
      ask(limit)
      ask(limit)
      time -= jump
      expect(ask(limit), String(jump)).to.be.within(1, 60)
      time += MINUTE_MS - 1
      expect(ask(limit)).to.equal(1)
      time += 1
      expect(ask(limit)).to.equal(0)
    }
  })

  it('[6.2.5] gives every address its quotes, whatever others ask, with 1 to 50 addresses', () => {
    for (let addresses = 1; addresses <= 50; addresses += 1) {
      time = START
      const limit = openLimit()
      const quotes = new Map<string, number>()
      const askAs = (client: string) => {
        const isQuoted = ask(limit, client) === 0
        if (isQuoted) quotes.set(client, (quotes.get(client) ?? 0) + 1)
        return isQuoted
      }
      // For a minute, the first address asks ten times as often as it may, the others once in each second of their own.
      for (let second = 0; second < 60; second += 1) {
        for (let attempt = 0; attempt < 20; attempt += 1) askAs('attacker')
        for (let other = 1; other < addresses; other += 1) expect(askAs(`other ${other}`)).to.equal(true)
        time += 1_000
      }
      expect(quotes.get('attacker')).to.equal(PER_MINUTE)
      for (let other = 1; other < addresses; other += 1) expect(quotes.get(`other ${other}`)).to.equal(60)
    }
  })

  it('remembers a bounded number of addresses, and forgets the one that was idle longest', () => {
    const limit = openLimit(1)
    ask(limit, 'first')
    for (let count = 1; count < ADDRESSES_MAX; count += 1) ask(limit, `address ${count}`)
    expect(ask(limit, 'first')).to.equal(60)
    ask(limit, 'one more')
    // `first` has asked again meanwhile.
    expect(ask(limit, 'address 1')).to.equal(0)
    expect(ask(limit, 'first')).to.equal(60)
  })
})
