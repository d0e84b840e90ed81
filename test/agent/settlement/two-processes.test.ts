/**
 * A payment that two processes settle: attempt 1 of the first has no reply yet when the second, which has
 * seen no renewal of its lease for ten seconds, begins attempt 2.
 */
import { expect } from 'chai'
import { perform } from '../../../agent/sale/perform.ts'
import type { SaleContext } from '../../../agent/sale/sale-context.ts'
import { KeyedMutex } from '../../../agent/sale/limits/keyed-mutex.ts'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { RecentAttempts } from '../../../agent/settlement/recent-attempts.ts'
import { makeClient } from '../../support/clients.ts'
import { header, signedPayment, type WirePayment } from '../../support/payments.ts'
import { codeOf, settledReply, TRANSACTION, useSale } from '../../support/sale-harness.ts'
import { priceOf } from '../../support/operations.ts'
import { lookup } from '../../../agent/operation/lookup.ts'

const ANSWER = 'answer'
const UNKNOWN = 'payment_outcome_unknown'
/** More than the delay of a second settlement, and than a process that settles may be silent. */
const LATER_MS = 30_000

const REPLIES = {
  success: settledReply,
  refusal: (payload: Parameters<typeof settledReply>[0]) => ({
    ...settledReply(payload),
    success: false,
    errorReason: 'insufficient_funds',
    transaction: '',
  }),
  'no answer': () => {
    throw new Error('reset')
  },
}
type Reply = keyof typeof REPLIES

/**
 * The replies to attempts 1 and 2, whether the transfer is on chain before them, and the answers in the order of
 * attempts.
 */
const ROWS: [first: Reply, second: Reply, isPaid: boolean, answers: [string, string]][] = [
  ['success', 'success', true, [ANSWER, ANSWER]],
  ['success', 'refusal', true, [ANSWER, ANSWER]],
  ['refusal', 'success', true, [ANSWER, ANSWER]],
  ['refusal', 'no answer', true, [ANSWER, ANSWER]],
  ['no answer', 'refusal', true, [ANSWER, ANSWER]],
  // The other transaction may still be pending, so a refusal of one attempt is not the outcome.
  ['refusal', 'refusal', false, [UNKNOWN, UNKNOWN]],
  ['refusal', 'no answer', false, [UNKNOWN, UNKNOWN]],
  ['no answer', 'no answer', false, [UNKNOWN, UNKNOWN]],
]

describe('[5.6.2, 5.7.2] two processes at attempts 1 and 2 of one payment', () => {
  const sale = useSale()
  let payment: WirePayment

  beforeEach(async () => {
    const start = Date.now()
    sale.now = () => new Date(start)
    payment = await signedPayment()
  })

  /** A process that shares the response log, and nothing else. */
  function openProcess(): SaleContext {
    const { services, ...rest } = sale.context
    return {
      ...rest,
      paymentMutex: new KeyedMutex(),
      services: { ...services, recentAttempts: new RecentAttempts(services) },
    }
  }

  const ask = (context: SaleContext): Promise<Outcome> =>
    perform(context, {
      operation: { definition: lookup, input: { company_number: '00000000' } },
      paymentHeaders: [header(payment)],
      resourceUrl: 'http://127.0.0.1:4021/api/v1/company/00000000',
      client: makeClient(sale.client, sale.budgets),
    })

  /** Answers the settlements when the test says so. */
  function holdSettlements() {
    const answers: ((reply: Reply) => void)[] = []
    sale.script.settle = (payload) =>
      new Promise((resolve) => void answers.push((reply) => resolve(Promise.resolve(payload).then(REPLIES[reply]))))
    const begun = async (count: number) => {
      while (answers.length < count) await new Promise(setImmediate)
    }
    return { answers, begun }
  }

  /** The outcomes of both requests. `order` says which of the settlements ends first. */
  async function sellTwice([first, second, isPaid]: (typeof ROWS)[number], order: readonly [0 | 1, 0 | 1]) {
    const { answers, begun } = holdSettlements()
    const outcomes = [ask(openProcess())]
    await begun(1)
    const other = openProcess()
    expect(codeOf(await ask(other))).to.equal(UNKNOWN)
    sale.pass(LATER_MS)
    outcomes.push(ask(other))
    await begun(2)
    const { from, to } = payment.payload.authorization
    const transfer = { from, to, value: BigInt(priceOf('lookup')), transaction: TRANSACTION }
    if (isPaid) sale.script.nonceState = async () => ({ nonce: 'used', transfer, isFinal: false })
    for (const index of order) {
      answers[index]?.(index === 0 ? first : second)
      await outcomes[index]
    }
    return Promise.all(outcomes)
  }

  for (const row of ROWS)
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const [first, second, isPaid, answers] = row
      const name = `${first} and ${second}, ${isPaid ? 'paid' : 'not paid'}, attempt ${order[0] + 1} ends first`
      it(`get ${answers.join(' and ')} for ${name}`, async () => {
        const outcomes = await sellTwice(row, order)
        expect(outcomes.map(codeOf)).to.deep.equal(answers)
        expect(sale.count('settle')).to.equal(2)
        const [record] = await sale.unsettledRecords()
        expect(record?.state).to.equal(isPaid ? undefined : 'unknown')
        const again = await ask(openProcess())
        if (isPaid) expect(again).to.deep.equal(outcomes[0])
        else expect(codeOf(again)).to.equal(UNKNOWN)
      })
    }
})
