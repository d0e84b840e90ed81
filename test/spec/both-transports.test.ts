/** The same operations over REST and A2A: the same refusals, prices, results and stored responses (contract 1.2, 4.5.4). */
import { expect } from 'chai'
import fc from 'fast-check'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { companyResponseSchema } from '../../agent/operation/result.ts'
import { resolveResponseSchema } from '../../agent/operation/resolve.ts'
import { searchResponseSchema } from '../../agent/operation/search.ts'
import { expectNoLeak, expectRefusal, type RawReply } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import {
  buyOverTransports,
  detailOf,
  expectCharges,
  messageOf,
  quoteOf,
  rpcBody,
  type Operation,
} from '../support/transports.ts'

/** Marks input of a hostile client. No refusal may contain it. */
const MARK = 'h0stile'

type Data = { operation: string; input: unknown }
const looking = (company_number: string): Operation => ({ operation: 'lookup', input: { company_number } })
const searching = <Input>(input: Input) => ({ operation: 'search', input })
const resolving = <Input>(input: Input) => ({ operation: 'resolve', input })

const NOT_OBJECTS = [null, 7, 'abc', ['abc'], [{ q: 'abc' }]]
const LONE_SURROGATE = 'Foo\uD800Bar'
const NEITHER = 'name or company_number is required'
const HIDDEN = 'must not contain control or invisible characters'

/** Input that is refused over A2A, by the rule that it breaks. */
const REFUSED: Record<string, Data[]> = {
  'must be an object': [...NOT_OBJECTS.map(searching), ...NOT_OBJECTS.map(resolving)],
  'q is required': [searching({})],
  'q must be text': [null, 7, ['abc'], { a: 'abc' }].map((q) => searching({ q })),
  'limit must be a whole number from 1 to 10': [0, 11, -1, 1.5, 1e300, '5', '', null, true].map((limit) =>
    searching({ q: 'abc', limit }),
  ),
  'status must have 1 to 80 characters after normalisation': ['', ' ', 'a'.repeat(81)].map((status) =>
    searching({ q: 'abc', status }),
  ),
  'unknown fields are not accepted': [
    ...[MARK, 'name', 'company_number', 'address', 'constructor'].map((field) => searching({ q: 'abc', [field]: 'a' })),
    ...[MARK, 'q', 'limit', 'status', 'constructor'].map((field) => resolving({ name: 'abc', [field]: 'a' })),
  ],
  [NEITHER]: [{}, { address: 'abc' }, { eircode: 'D02X285' }].map(resolving),
  'company_number must be 1 to 20 ASCII digits': ['', '1'.repeat(21), '-1', MARK].map((company_number) =>
    resolving({ name: 'abc', company_number }),
  ),
  [`q ${HIDDEN}`]: [searching({ q: LONE_SURROGATE })],
  [`status ${HIDDEN}`]: [searching({ q: 'abc', status: LONE_SURROGATE })],
  [`name ${HIDDEN}`]: [resolving({ name: LONE_SURROGATE })],
  [`address ${HIDDEN}`]: [resolving({ name: 'abc', address: LONE_SURROGATE })],
}

const LOOKUP = looking('1004')
const SEARCH = searching({ q: 'Plain Fixture Limited', limit: 3, status: 'Normal', eircode: 'T12 AB34' })
const RESOLVE = resolving({ name: 'Plain Fixture Limited', eircode: 'T12 AB34', address: 'Fixture Street' })

const SCHEMAS = { lookup: companyResponseSchema, search: searchResponseSchema, resolve: resolveResponseSchema }

/** Operations, their prices, and others that their payments must not buy. */
const OPERATIONS: [operation: Operation, price: bigint, others: Operation[]][] = [
  [LOOKUP, 1000n, [looking('1005'), looking('99'), searching({ q: '1004' })]],
  [
    SEARCH,
    1000n,
    [
      ...[{ limit: 4 }, { status: 'Dissolved' }, { eircode: 'D02X285' }, { q: 'plain fixture limited' }].map((change) =>
        searching({ ...SEARCH.input, ...change }),
      ),
      resolving({ name: 'Plain Fixture Limited' }),
      looking('73848'),
    ],
  ],
  [
    RESOLVE,
    2000n,
    [
      ...[
        { name: 'plain fixture limited' },
        { company_number: '73848' },
        { eircode: 'D02X285' },
        { address: 'abc' },
      ].map((change) => resolving({ ...RESOLVE.input, ...change })),
      searching({ q: 'Plain Fixture Limited' }),
    ],
  ],
]

describe('the operations over both transports', () => {
  let service: TestService
  /** Valid payments that are sent with every request that must be refused. A later test buys with them. */
  let payments: Record<string, string>

  before(async () => {
    service = await startTestService()
    payments = { search: await payFor(search('q=abc')), resolve: await payFor(resolve({ name: 'abc' })) }
  })
  after(() => service.stop())

  const { search, resolve, rest, a2a, payFor } = buyOverTransports(() => service)

  describe('[4.5.4] refuse over A2A what they refuse over REST:', () => {
    for (const [rule, rows] of Object.entries(REFUSED)) {
      for (const data of rows) {
        it(`${JSON.stringify(data).slice(0, 80)}: ${rule}`, async () => {
          for (const payment of [undefined, payments[data.operation]]) {
            const reply = await a2a(data, payment)
            expectRefusal(reply, data.operation === 'search' ? 'invalid_query' : 'invalid_body')
            expect(detailOf(reply))
              .to.match(/^The (query|body) is not valid: /)
              .and.to.include(rule)
            expectNoLeak(reply, MARK)
          }
        })
      }
    }

    it('__proto__ in an input', async () => {
      for (const input of ['{"q":"abc","__proto__":{"limit":1}}', '{"__proto__":{"q":"abc"}}']) {
        const body = rpcBody(searching('@')).replace('"@"', input)
        expectRefusal(await a2a(body), 'invalid_query')
        expectRefusal(await a2a(body.replace('search', 'resolve').replace('"q"', '"name"')), 'invalid_body')
      }
    })

    it('a member that occurs twice', async () => {
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
  })

  it('[5.5.1] charge and record nothing for refused input: the payments of these requests still buy', () =>
    expectCharges(service, [1000n, 2000n], async () => {
      messageOf(await a2a(searching({ q: 'abc' }), payments['search']))
      messageOf(await a2a(resolving({ name: 'abc' }), payments['resolve']))
    }))

  for (const [operation, price, others] of OPERATIONS) {
    describe(`a ${operation.operation}`, () => {
      const parse = (body: unknown) => SCHEMAS[operation.operation as keyof typeof SCHEMAS].parse(body)

      it('[1.2, 5.6.2] that is bought over REST is replayed over A2A', async () => {
        const payment = await payFor(rest(operation))
        await expectCharges(service, [price], async () => {
          const bought = await rest(operation, payment)
          expect(bought.status, bought.text).to.equal(200)
          parse(bought.json)
          const replies = [await a2a(operation, payment, 'one'), await a2a(operation, payment, 2)]
          for (const reply of replies) {
            expect(JSON.stringify(messageOf(reply).data)).to.equal(bought.text)
            expect(reply.headers['payment-response']).to.equal(bought.headers['payment-response'])
          }
          expect(new Set(replies.map((reply) => messageOf(reply).messageId)).size).to.equal(1)
        })
      })

      it('[5.6.2] that is bought over A2A is replayed over REST', async () => {
        const payment = await payFor(a2a(operation))
        await expectCharges(service, [price], async () => {
          const { data } = messageOf(await a2a(operation, payment))
          parse(data)
          for (let replay = 0; replay < 2; replay += 1)
            expect((await rest(operation, payment)).text).to.equal(JSON.stringify(data))
        })
      })

      it('[5.6.3] that is requested over both transports at once is sold once', async () => {
        const payment = await payFor(rest(operation))
        await expectCharges(service, [price], async () => {
          const [overRest, overA2a] = await Promise.all([rest(operation, payment), a2a(operation, payment)])
          expect(JSON.stringify(messageOf(overA2a).data)).to.equal(overRest.text)
        })
      })

      it('[5.4.2] does not sell another operation for the same payment', async () => {
        const payment = await payFor(a2a(operation))
        messageOf(await a2a(operation, payment))
        await expectCharges(service, [], async () => {
          for (const other of others)
            for (const ask of [rest, a2a]) expectRefusal(await ask(other, payment), 'payment_replay_conflict')
          messageOf(await a2a(operation, payment))
        })
      })
    })
  }

  const DATA_ERRORS: [operation: Operation, status: number, code: RefusalCode, price: bigint][] = [
    [looking('999'), 404, 'company_not_found', 1000n],
    [looking('2001'), 409, 'source_data_conflict', 1000n],
    [resolving({ company_number: '999' }), 404, 'company_not_found', 2000n],
    [resolving({ company_number: '073848' }), 404, 'company_not_found', 2000n],
    [resolving({ company_number: '2001' }), 409, 'source_data_conflict', 2000n],
  ]
  for (const [operation, status, code, price] of DATA_ERRORS) {
    it(`[1.6, 2.8, 4.1.4, 4.3.4, 5.5.1, 11.4] ${JSON.stringify(operation)}: ${code}, not charged`, async () => {
      const unpaid = await rest(operation)
      expectRefusal(unpaid, 'payment_required')
      const payment = await payFor(Promise.resolve(unpaid))
      await expectCharges(service, [], async () => {
        const reply = await rest(operation, payment)
        expect(reply.status).to.equal(status)
        expect(reply.json).to.have.all.keys('company', 'error', 'source', 'snapshot_id')
        expect(reply.json).to.include({ company: null })
        expect(reply.json['error']).to.have.all.keys('code', 'message').and.to.include({ code })
        expect(reply.headers).to.include({ 'cache-control': 'private, no-store' })
        expect(reply.headers).not.to.have.property('payment-response')
        expectNoLeak(reply, 'FIXTURE')
        const overA2a = await a2a(operation, payment)
        expect([overA2a.status, overA2a.text]).to.deep.equal([status, reply.text])
      })
      // Nothing is recorded, so the payment still buys.
      const other = { ...operation, input: { company_number: '73848' } }
      await expectCharges(service, [price], async () => expect((await rest(other, payment)).status).to.equal(200))
    })
  }

  it('[1.2] give the same status, error and amount', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.constantFrom('abc', 'Foo & Bar', 'a'.repeat(161), '\uFB03', 'x+y', 'x%y', 'D02 X285', '12', ''),
    )
    const optional = { requiredKeys: [] }
    const operations = fc.oneof(
      fc
        .record({ q: text, limit: fc.integer({ min: -1, max: 12 }), status: text, eircode: text }, optional)
        .map(searching),
      fc.record({ eircode: text, address: text, company_number: text, q: text, name: text }, optional).map(resolving),
    )
    let quoted = 0
    await fc.assert(
      fc.asyncProperty(operations, async (operation) => {
        const [overRest, overA2a] = [await rest(operation), await a2a(operation)]
        const outcomeOf = ({ status, json }: RawReply) => ({ status, error: json['error'] })
        expect(outcomeOf(overA2a)).to.deep.equal(outcomeOf(overRest))
        if (overA2a.status !== 402) return
        expect(quoteOf(overA2a).amount).to.equal(quoteOf(overRest).amount)
        quoted += 1
      }),
      { numRuns: 150 },
    )
    expect(quoted).to.be.greaterThan(0)
  })
})

describe('a search or resolution that exceeds its time limit', () => {
  it('[12.9] is 400 query_too_broad over both transports, without a charge or a record', async () => {
    let clock = Date.now()
    let stepMs = 0
    // The clock advances three seconds per reading, so the time limit is reached at once.
    const service = await startTestService({ now: () => new Date((clock += stepMs)) })
    try {
      const { rest, a2a, payFor } = buyOverTransports(() => service)
      const operations = [searching({ q: 'abc' }), resolving({ name: 'abc' })]
      const payments = [await payFor(rest(operations[0]!)), await payFor(rest(operations[1]!))]
      stepMs = 3000
      await expectCharges(service, [], async () => {
        for (const [index, operation] of operations.entries())
          for (const ask of [rest, a2a]) expectRefusal(await ask(operation, payments[index]), 'query_too_broad')
      })
      stepMs = 0
      expect((await rest(searching({ q: 'abcd' }), payments[0])).status).to.equal(200)
      expect((await a2a(resolving({ name: 'abcd' }), payments[1])).status).to.equal(200)
    } finally {
      await service.stop()
    }
  })
})

describe('the operations on a stale dataset', () => {
  it('[3.1, 3.2] are 503 over both transports, except for replays', async () => {
    let hours = 0
    const service = await startTestService({ now: () => new Date(Date.now() + hours * 3_600_000) })
    try {
      const { rest, a2a, payFor } = buyOverTransports(() => service)
      const [found, resolved] = [searching({ q: 'abc' }), resolving({ name: 'abc' })]
      const [bought, other] = [await payFor(rest(found)), await payFor(rest(resolved))]
      const first = await rest(found, bought)
      expect(first.status).to.equal(200)
      hours = 73
      await expectCharges(service, [], async () => {
        for (const reply of [
          await rest(found),
          await rest(searching({ q: 'abcd' }), other),
          await rest(resolved),
          await rest(resolved, other),
          await a2a(found),
          await a2a(resolved, other),
        ]) {
          expectRefusal(reply, 'dataset_stale')
          expect(reply.headers['retry-after']).to.match(/^[1-9][0-9]*$/)
        }
        expect((await rest(found, bought)).text).to.equal(first.text)
        expect(JSON.stringify(messageOf(await a2a(found, bought)).data)).to.equal(first.text)
      })
      hours = 0
      expect((await rest(resolved, other)).status).to.equal(200)
    } finally {
      await service.stop()
    }
  })
})
