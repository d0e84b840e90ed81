/**
 * The same operations over REST, A2A and MCP: the same refusals, prices, results and stored responses (contract 1.2,
 * 4.5.4).
 */
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { expect } from 'chai'
import fc from 'fast-check'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { expectNoLeak, expectRefusal, type RawReply } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { expectCharges, messageOf, type Operation } from '../support/transports.ts'
import { useService } from '../support/use-service.ts'

const looking = (company_number: string): Operation => ({ operation: 'lookup', input: { company_number } })
const searching = (input: Operation['input']): Operation => ({ operation: 'search', input })
const resolving = (input: Operation['input']): Operation => ({ operation: 'resolve', input })

const NAME = 'Plain Fixture Limited'
const SEARCH = { q: NAME, limit: 3, status: 'Normal', eircode: 'T12 AB34' }
const RESOLVE = { name: NAME, eircode: 'T12 AB34', address: 'Fixture Street' }

/** Operations, their prices, and others that their payments must not buy. */
const OPERATIONS: [operation: Operation, price: bigint, others: Operation[]][] = [
  [looking('1004'), 1000n, [looking('1005'), looking('99'), searching({ q: '1004' })]],
  [
    searching(SEARCH),
    1000n,
    [
      ...[{ limit: 4 }, { status: 'Dissolved' }, { eircode: 'D02X285' }, { q: NAME.toLowerCase() }].map((change) =>
        searching({ ...SEARCH, ...change }),
      ),
      resolving({ name: NAME }),
      looking('73848'),
    ],
  ],
  [
    resolving(RESOLVE),
    2000n,
    [
      ...[{ name: NAME.toLowerCase() }, { company_number: '73848' }, { eircode: 'D02X285' }, { address: 'abc' }].map(
        (change) => resolving({ ...RESOLVE, ...change }),
      ),
      searching({ q: NAME }),
    ],
  ],
]

describe('the operations over all transports', () => {
  const { service, rest, a2a, mcp, payFor } = useService(() => startTestService())
  const asks = { REST: rest, A2A: a2a, MCP: mcp }

  /** The result and the settlement response of a reply over any transport. */
  const boughtIn = (reply: RawReply) => {
    expect(reply.status, reply.text).to.equal(200)
    const body = reply.json['jsonrpc'] === undefined ? reply.json : messageOf(reply).data
    return {
      body: JSON.stringify(body),
      settlement: decodePaymentResponseHeader(String(reply.headers['payment-response'])),
    }
  }

  const amountIn = ({ headers }: RawReply) =>
    decodePaymentRequiredHeader(String(headers['payment-required'])).accepts[0]?.amount

  for (const [operation, price, others] of OPERATIONS) {
    describe(`a ${operation.operation}`, () => {
      for (const [transport, ask] of Object.entries(asks)) {
        it(`[1.2, 5.4.2, 5.6.1, 5.9.2] that is bought over ${transport} is replayed over every transport, and its payment buys no other operation`, async () => {
          const payment = await payFor(ask(operation))
          await expectCharges(service, [price], async () => {
            const bought = boughtIn(await ask(operation, payment))
            for (const again of [rest, a2a, mcp])
              expect(boughtIn(await again(operation, payment))).to.deep.equal(bought)
            for (const other of others) {
              const { status, json } = await ask(other, payment)
              expect([status, json['error']]).to.have.nested.property('[1].code', 'payment_replay_conflict')
            }
            expect((await rest(operation, payment)).text).to.equal(bought.body)
          })
        })
      }

      it('[5.6.3] that is requested four times over all transports at once is sold once', async () => {
        const payment = await payFor(rest(operation))
        await expectCharges(service, [price], async () => {
          const all = [rest, ...Object.values(asks)]
          const replies = await Promise.all(all.map((ask) => ask(operation, payment)))
          expect(new Set(replies.map((reply) => JSON.stringify(boughtIn(reply)))).size).to.equal(1)
        })
      })
    })
  }

  const DATA_ERRORS: [operation: Operation, code: RefusalCode, price: bigint][] = [
    [looking('999'), 'company_not_found', 1000n],
    [looking('2001'), 'source_data_conflict', 1000n],
    [resolving({ company_number: '999' }), 'company_not_found', 2000n],
    [resolving({ company_number: '073848' }), 'company_not_found', 2000n],
    [resolving({ company_number: '2001' }), 'source_data_conflict', 2000n],
  ]
  for (const [operation, code, price] of DATA_ERRORS) {
    it(`[1.6, 2.8, 4.1.4, 4.3.4, 5.5.1, 11.3] ${JSON.stringify(operation)}: ${code}, not charged`, async () => {
      const payment = await payFor(rest(operation))
      await expectCharges(service, [], async () => {
        const reply = await rest(operation, payment)
        expectRefusal(reply, code)
        expect(reply.json).to.include({ company: null })
        expect(reply.headers).to.include({ 'cache-control': 'private, no-store' })
        expectNoLeak(reply, 'FIXTURE')
        const overA2a = await a2a(operation, payment)
        expect([overA2a.status, overA2a.text]).to.deep.equal([reply.status, reply.text])
      })
      // Nothing is recorded, so the payment still buys.
      const other = { ...operation, input: { company_number: '73848' } }
      await expectCharges(service, [price], async () => expect((await rest(other, payment)).status).to.equal(200))
    })
  }

  it('[1.2] have the same status, error and amount', async () => {
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
        const overRest = await rest(operation)
        // Over MCP an empty text is absent (contract 10.5).
        const present = Object.entries(operation.input).filter(([, value]) => value !== '')
        const asMcp = await rest({ ...operation, input: Object.fromEntries(present) })
        for (const [reply, same] of [
          [await a2a(operation), overRest],
          [await mcp(operation), asMcp],
        ] as const) {
          expect([reply.status, reply.json['error']]).to.deep.equal([same.status, same.json['error']])
          if (reply.status === 402) expect(amountIn(reply)).to.equal(amountIn(same))
        }
        quoted += overRest.status === 402 ? 1 : 0
      }),
      // Few random inputs are valid.
      { numRuns: 50, examples: [[searching({ q: NAME })], [resolving({ name: NAME })]] },
    )
    expect(quoted).to.be.greaterThan(1)
  })
})
