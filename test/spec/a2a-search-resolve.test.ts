/** Spec 4.5 for searches and resolutions: one operation behind two doors, with the same rules, price and payment. */
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { expect } from 'chai'
import fc from 'fast-check'
import { BODY_BYTES_MAX } from '../../agent/a2a/route.ts'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { resolveResponseSchema, searchResponseSchema } from '../../agent/operation/result.ts'
import {
  detailOf,
  doorsOf,
  EIRCODES,
  HIDDEN,
  LENGTHS,
  messageOf,
  NOTHING,
  once,
  quoteOf,
  RESOLVE,
  rpcBody,
  SEARCH,
} from '../support/doors.ts'
import { expectNoLeak, expectRefusal } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Stands for what a hostile client sends; no refusal may repeat it. */
const MARK = 'h0stile'

type Data = { operation: string; input: unknown }
const searching = (input: unknown): Data => ({ operation: 'search', input })
const resolving = (input: unknown): Data => ({ operation: 'resolve', input })

const REFUSED: [name: string, data: Data, code: RefusalCode, rule: string][] = [
  ...[null, 7, 'abc', ['abc'], [{ q: 'abc' }]].flatMap((input): typeof REFUSED => [
    [`a search for ${JSON.stringify(input)}`, searching(input), 'invalid_query', 'must be an object'],
    [`a resolution of ${JSON.stringify(input)}`, resolving(input), 'invalid_body', 'must be an object'],
  ]),
  ['a search for nothing', searching({}), 'invalid_query', 'q is required'],
  ...[null, 7, ['abc'], { a: 'abc' }].map((q): (typeof REFUSED)[number] => [
    `a q of ${JSON.stringify(q)}`,
    searching({ q }),
    'invalid_query',
    'q must be text',
  ]),
  ...[0, 11, -1, 1.5, 1e300, '5', '', null, true].map((limit): (typeof REFUSED)[number] => [
    `a limit of ${JSON.stringify(limit)}`,
    searching({ q: 'abc', limit }),
    'invalid_query',
    'limit must be a whole number from 1 to 10',
  ]),
  ...['', ' ', 'a'.repeat(81)].map((status): (typeof REFUSED)[number] => [
    `a status of ${status.length} characters`,
    searching({ q: 'abc', status }),
    'invalid_query',
    'status must have 1 to 80 characters after normalisation',
  ]),
  ...[MARK, 'name', 'company_number', 'address', 'constructor'].map((field): (typeof REFUSED)[number] => [
    `a search with ${field}`,
    searching({ q: 'abc', [field]: 'abc' }),
    'invalid_query',
    'unknown fields are not accepted',
  ]),
  ...[MARK, 'q', 'limit', 'status', 'constructor'].map((field): (typeof REFUSED)[number] => [
    `a resolution with ${field}`,
    resolving({ name: 'abc', [field]: 'abc' }),
    'invalid_body',
    'unknown fields are not accepted',
  ]),
  ['a resolution of nothing', resolving({}), 'invalid_body', 'name or company_number is required'],
  ['an address alone', resolving({ address: 'abc' }), 'invalid_body', 'name or company_number is required'],
  ['an Eircode alone', resolving({ eircode: 'D02X285' }), 'invalid_body', 'name or company_number is required'],
  ...['', '1'.repeat(21), '-1', MARK].map((company_number): (typeof REFUSED)[number] => [
    `a number ${JSON.stringify(company_number)}`,
    resolving({ name: 'abc', company_number }),
    'invalid_body',
    'company_number must be 1 to 20 ASCII digits',
  ]),
]

const TAKEN: [name: string, data: Data][] = [
  ['a search', searching({ q: 'abc' })],
  ['a search with everything', searching({ q: 'abc', limit: 10, status: 'a'.repeat(80), eircode: 'D02X285' })],
  ['a name', resolving({ name: 'abc' })],
  ['a number', resolving({ company_number: '9'.repeat(20) })],
  ['all evidence', resolving({ name: 'abc', company_number: '0', eircode: 'd02 x285', address: 'Main Street' })],
]

describe('searches and resolutions over A2A', () => {
  let service: TestService
  /** Sent along with what is to be refused, and good to the end: payments on record would not be. */
  let payments: Record<string, string>

  before(async () => {
    service = await startTestService()
    payments = { search: await payFor(search('q=abc')), resolve: await payFor(resolve({ name: 'abc' })) }
  })
  after(() => service.stop())

  const { search, resolve, a2a, cost, payFor } = doorsOf(() => service)

  /** A right request by REST for the same. */
  const rest = ({ operation, input }: Data, paid?: string) =>
    operation === 'search' ? search(queryFor(input as Record<string, unknown>), paid) : resolve(input, paid)

  const queryFor = (input: Record<string, unknown>) =>
    new URLSearchParams(
      Object.entries(input).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString()

  async function expectRefused(data: Data, code: RefusalCode, rule?: string): Promise<void> {
    for (const reply of [await a2a(data), await a2a(data, payments[data.operation])]) {
      expectRefusal(reply, code)
      if (rule !== undefined)
        expect(detailOf(reply))
          .to.match(/^The (query|body) is not valid: /)
          .and.to.include(rule)
      expectNoLeak(reply, MARK)
      expect(reply.headers).not.to.have.any.keys('payment-required', 'payment-response')
    }
  }

  describe('are refused as REST refuses them:', () => {
    for (const [name, data, code, rule] of REFUSED) it(`${name}: ${rule}`, () => expectRefused(data, code, rule))

    it('__proto__ in an input', async () => {
      for (const input of ['{"q":"abc","__proto__":{"limit":1}}', '{"__proto__":{"q":"abc"}}']) {
        const body = rpcBody(searching('@')).replace('"@"', input)
        expectRefusal(await a2a(body), 'invalid_query')
        expectRefusal(await a2a(body.replace('search', 'resolve').replace('"q"', '"name"')), 'invalid_body')
      }
    })

    for (const [name, text] of [...HIDDEN, ['a lone surrogate', 'Foo\uD800Bar'] as const]) {
      it(`text with ${name}`, async () => {
        await expectRefused(searching({ q: text }), 'invalid_query', 'q must not contain')
        await expectRefused(searching({ q: 'abc', status: text }), 'invalid_query', 'status must not contain')
        await expectRefused(resolving({ name: text }), 'invalid_body', 'name must not contain')
        await expectRefused(resolving({ name: 'abc', address: text }), 'invalid_body', 'address must not contain')
      })
    }

    for (const [name, text] of LENGTHS.filter(([, , fits]) => !fits)) {
      it(`text of ${name}`, async () => {
        await expectRefused(searching({ q: text }), 'invalid_query', 'q must')
        await expectRefused(resolving({ name: text }), 'invalid_body', 'name must')
        await expectRefused(resolving({ name: 'abc', address: text }), 'invalid_body', 'address must')
      })
    }

    for (const [eircode] of EIRCODES.filter(([, fits]) => !fits)) {
      it(`the Eircode ${JSON.stringify(eircode)}`, async () => {
        await expectRefused(searching({ q: 'abc', eircode }), 'invalid_query', 'eircode must')
        await expectRefused(resolving({ name: 'abc', eircode }), 'invalid_body', 'eircode must')
      })
    }
  })

  describe('are quoted as REST quotes them, by the REST resource:', () => {
    const texts = LENGTHS.filter(([, , fits]) => fits).flatMap(([name, text]): typeof TAKEN => [
      [`a q of ${name}`, searching({ q: text })],
      [`a name and an address of ${name}`, resolving({ name: text, address: text })],
    ])
    const eircodes = EIRCODES.filter(([, fits]) => fits).map(([eircode]): (typeof TAKEN)[number] => [
      `the Eircode ${JSON.stringify(eircode)}`,
      searching({ q: 'abc', eircode }),
    ])
    for (const [name, data] of [...TAKEN, ...texts, ...eircodes]) {
      it(name, async () => {
        const here = quoteOf(await a2a(data))
        const there = quoteOf(await rest(data))
        expect(here.amount)
          .to.equal(data.operation === 'search' ? '1000' : '2000')
          .and.to.equal(there.amount)
        // The URL of the A2A quote is the one of our spelling; asked for by REST, it is the same search.
        if (data.operation === 'resolve') expect(here.url).to.equal(`${service.url}${RESOLVE}`)
        else expect(quoteOf(await search(here.url.slice(`${service.url}${SEARCH}?`.length)))).to.deep.equal(here)
      })
    }

    it('whose query has its fields in one order, percent-encoded', async () => {
      const { url } = quoteOf(await a2a(searching({ eircode: 'd02 x285', status: 'Normal', q: ' Café  & Co+' })))
      expect(url).to.equal(`${service.url}${SEARCH}?q=Caf%C3%A9%20%26%20Co%2B&limit=5&status=Normal&eircode=D02X285`)
    })
  })

  describe('within the size of a body:', () => {
    /** A right request of exactly so many bytes, most of them blanks. */
    const sized = (data: Data, bytes: number) => rpcBody(data).padEnd(bytes)

    for (const data of [searching({ q: 'abc' }), resolving({ name: 'abc' })]) {
      it(data.operation, async () => {
        expectRefusal(await a2a(sized(data, BODY_BYTES_MAX)), 'payment_required')
        expectRefusal(await a2a(sized(data, BODY_BYTES_MAX + 1)), 'body_too_large')
        expectRefusal(await a2a(sized(data, BODY_BYTES_MAX + 1), payments[data.operation]), 'body_too_large')
      })
    }
  })

  it('with a field given twice are no request', async () => {
    for (const body of [
      rpcBody(searching({ q: 'abc' })).replace('"q"', '"q":"def","q"'),
      rpcBody(resolving({ name: 'abc' })).replace('"name"', '"\\u006eame":"def","name"'),
      rpcBody(searching({ q: 'abc' })).replace('"operation"', '"operation":"lookup","operation"'),
    ]) {
      const reply = await a2a(body, payments['search'])
      expect(reply.status).to.equal(200)
      expect(reply.json).to.deep.include({ id: null })
      expect(reply.json['error']).to.include({ code: -32600 })
    }
  })

  it('were refused for all that without a charge or a record: the payments sent along still buy', async () => {
    const total = await cost(async () => {
      messageOf(await a2a(searching({ q: 'abc' }), payments['search']))
      messageOf(await a2a(resolving({ name: 'abc' }), payments['resolve']))
    })
    expect(total).to.deep.equal({ spent: 3000n, earned: 3000n, transfers: 2 })
  })

  describe('once paid for', () => {
    const SAME: [data: Data, price: bigint][] = [
      [searching({ q: 'Plain Fixture Limited', limit: 3, status: 'Normal', eircode: 'T12 AB34' }), 1000n],
      [resolving({ name: 'Plain Fixture Limited', eircode: 'T12 AB34', address: 'Fixture Street' }), 2000n],
    ]
    const parse = ({ operation }: Data, body: unknown) =>
      (operation === 'search' ? searchResponseSchema : resolveResponseSchema).parse(body)

    for (const [data, price] of SAME) {
      it(`a ${data.operation} by REST is given again over A2A`, async () => {
        const paid = await payFor(rest(data))
        const total = await cost(async () => {
          const bought = await rest(data, paid)
          expect(bought.status, bought.text).to.equal(200)
          parse(data, bought.json)
          const replies = [await a2a(data, paid, 'one'), await a2a(data, paid, 2)]
          for (const reply of replies) {
            expect(JSON.stringify(messageOf(reply).data)).to.equal(bought.text)
            expect(reply.headers['payment-response']).to.equal(bought.headers['payment-response'])
          }
          expect(new Set(replies.map((reply) => messageOf(reply).messageId)).size).to.equal(1)
        })
        expect(total).to.deep.equal(once(price))
      })

      it(`a ${data.operation} over A2A is given again by REST`, async () => {
        const paid = await payFor(a2a(data))
        const total = await cost(async () => {
          const bought = messageOf(await a2a(data, paid))
          parse(data, bought.data)
          const replies = [await rest(data, paid), await rest(data, paid)]
          for (const reply of replies) expect(reply.text).to.equal(JSON.stringify(bought.data))
        })
        expect(total).to.deep.equal(once(price))
      })

      it(`a ${data.operation} at once by both doors is sold once`, async () => {
        const paid = await payFor(rest(data))
        const total = await cost(async () => {
          const [one, other] = await Promise.all([rest(data, paid), a2a(data, paid)])
          expect(JSON.stringify(messageOf(other).data)).to.equal(one.text)
        })
        expect(total).to.deep.equal(once(price))
      })
    }

    it('with @x402/fetch, in the client’s own spelling, both are sold', async () => {
      const client = new x402Client().register('eip155:*', new ExactEvmScheme(service.buyer))
      const buy = wrapFetchWithPayment(fetch, client)
      const total = await cost(async () => {
        const found = await buy(`${service.url}${SEARCH}?limit=3&q=Plain+Fixture%20Limited`)
        expect(searchResponseSchema.parse(await found.json()).query).to.deep.equal({
          q: 'Plain Fixture Limited',
          limit: 3,
        })
        const headers = { 'Content-Type': 'application/json' }
        const body = ' {"name": "Plain Fixture Limited"}'
        const resolved = await buy(`${service.url}${RESOLVE}`, { method: 'POST', headers, body })
        expect(resolveResponseSchema.parse(await resolved.json()).match?.company.company_number).to.equal('73848')
      })
      expect(total).to.deep.equal({ spent: 3000n, earned: 3000n, transfers: 2 })
    })

    it('an operation’s payment buys no other by either door', async () => {
      const data = searching({ q: 'Plain Fixture', limit: 5 })
      const paid = await payFor(a2a(data))
      messageOf(await a2a(data, paid))
      const total = await cost(async () => {
        const others = [
          await a2a(searching({ q: 'Plain Fixture', limit: 4 }), paid),
          await a2a(searching({ q: 'Plain Fixture', status: 'Normal' }), paid),
          await a2a(resolving({ name: 'Plain Fixture' }), paid),
          await a2a({ operation: 'lookup', input: { company_number: '73848' } }, paid),
          await search('q=Plain+Fixture&limit=4', paid),
          await resolve({ name: 'Plain Fixture' }, paid),
        ]
        for (const reply of others) expectRefusal(reply, 'payment_replay_conflict')
        messageOf(await a2a(searching({ q: 'Plain Fixture' }), paid))
      })
      expect(total).to.deep.equal(NOTHING)
    })

    it('a quarantined number is 409, as by REST, and not charged', async () => {
      const data = resolving({ company_number: '2001' })
      const paid = await payFor(a2a(data))
      const total = await cost(async () => {
        const here = await a2a(data, paid)
        expect(here.status).to.equal(409)
        expect(here.json['error']).to.include({ code: 'source_data_conflict' })
        expect((await rest(data, paid)).text).to.equal(here.text)
      })
      expect(total).to.deep.equal(NOTHING)
    })

    it('a number that is not there is an answer, and charged', async () => {
      const data = resolving({ company_number: '999' })
      const paid = await payFor(a2a(data))
      const total = await cost(async () => {
        const { status, match } = resolveResponseSchema.parse(messageOf(await a2a(data, paid)).data)
        expect({ status, match }).to.deep.equal({ status: 'no_match', match: null })
      })
      expect(total).to.deep.equal(once(2000n))
    })
  })

  it('get from both doors the same status, error and amount, whatever is asked', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.constantFrom('abc', 'Foo & Bar', 'a'.repeat(161), '\uFB03', 'x+y', 'x%y', 'D02 X285', '12', ''),
    )
    const fields = { eircode: text, address: text, company_number: text, q: text, name: text, status: text }
    const asked = fc.tuple(
      fc.constantFrom('search', 'resolve'),
      fc.record({ ...fields, limit: fc.integer({ min: -1, max: 12 }) }, { requiredKeys: [] }),
    )
    let quoted = 0
    await fc.assert(
      fc.asyncProperty(asked, async ([operation, all]) => {
        const names = operation === 'search' ? ['q', 'limit', 'status', 'eircode'] : Object.keys(fields).slice(0, 5)
        const kept = Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
        const data = { operation, input: kept }
        const [here, there] = [await a2a(data), await rest(data)]
        expect({ status: here.status, error: here.json['error'] }).to.deep.equal({
          status: there.status,
          error: there.json['error'],
        })
        if (here.status !== 402) return
        expect(quoteOf(here).amount).to.equal(quoteOf(there).amount)
        quoted += 1
      }),
      { numRuns: 150 },
    )
    expect(quoted).to.be.greaterThan(0)
  })
})

describe('a search or a resolution that takes too long', () => {
  it('is 400 query_too_broad by both doors, without a charge or a record', async () => {
    let clock = Date.now()
    let stepMs = 0
    // Each look at the clock is a second after the last: so slow is no machine, and an answer's time is up at once.
    const service = await startTestService({ now: () => new Date((clock += stepMs)) })
    try {
      const { search, resolve, a2a, cost, payFor } = doorsOf(() => service)
      const input = { name: 'abc' }
      const [one, other] = [await payFor(search('q=abc')), await payFor(resolve(input))]
      stepMs = 1000
      const total = await cost(async () => {
        for (const reply of [
          await search('q=abc', one),
          await a2a(searching({ q: 'abc' }), one),
          await resolve(input, other),
          await a2a(resolving(input), other),
        ]) {
          expectRefusal(reply, 'query_too_broad')
          expect(reply.headers).not.to.have.any.keys('payment-required', 'payment-response')
        }
      })
      expect(total).to.deep.equal(NOTHING)
      stepMs = 0
      expect((await search('q=abcd', one)).status).to.equal(200)
      expect((await a2a(resolving({ name: 'abcd' }), other)).status).to.equal(200)
    } finally {
      await service.stop()
    }
  })
})

describe('searches and resolutions of a stale dataset', () => {
  it('are 503 before any quote, by both doors, but for what was bought before', async () => {
    let hours = 0
    const service = await startTestService({ now: () => new Date(Date.now() + hours * 3_600_000) })
    try {
      const { search, resolve, a2a, cost, payFor } = doorsOf(() => service)
      const input = { name: 'abc' }
      const [bought, other] = [await payFor(search('q=abc')), await payFor(resolve(input))]
      const first = await search('q=abc', bought)
      expect(first.status).to.equal(200)
      hours = 73
      const total = await cost(async () => {
        for (const reply of [
          await search('q=abc'),
          await search('q=abcd', other),
          await resolve(input),
          await resolve(input, other),
          await a2a(searching({ q: 'abc' })),
          await a2a(resolving(input), other),
        ]) {
          expectRefusal(reply, 'dataset_stale')
          expect(reply.headers['retry-after']).to.match(/^[1-9][0-9]*$/)
          expect(reply.headers).not.to.have.any.keys('payment-required', 'payment-response')
        }
        expect((await search('q=abc', bought)).text).to.equal(first.text)
        expect(JSON.stringify(messageOf(await a2a(searching({ q: 'abc' }), bought)).data)).to.equal(first.text)
      })
      expect(total).to.deep.equal(NOTHING)
      hours = 0
      expect((await resolve(input, other)).status).to.equal(200)
    } finally {
      await service.stop()
    }
  })
})
