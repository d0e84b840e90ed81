/**
 * The first answer to sales, if the provider of the chain has nodes that are some blocks behind. Clock, blocks, calls
 * and pauses run twice as fast as usual, all in the same ratio.
 */
import { setMaxListeners } from 'node:events'
import { expect } from 'chai'
import { readChainWith } from '../../agent/settlement/chain/chain.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { randomFor } from '../support/random.ts'
import type { Timer } from '../../store/base/runtime.ts'
import { LaggingChain } from '../support/lagging-chain.ts'
import { signedPayment, testTerms, type AuthorizationFields } from '../support/payments.ts'
import { codeOf, SaleHarness } from '../support/sale-harness.ts'

const FASTER = 2
const SALES = 20
const CALL_MS = 100
const SETTLE_MS = 500
const SEED = 27
const { chainId } = DEPLOYMENTS.testnet

interface Row {
  name: string
  lags: readonly number[]
  blockMs?: number
  /** Right first answers of 20 sales. */
  least: number
}

const ROWS: readonly Row[] = [
  { name: 'no block behind', lags: [0], least: 19 },
  { name: 'one block behind', lags: [1], least: 19 },
  { name: '0, 0, 1 and 2 blocks behind', lags: [0, 0, 1, 2], least: 19 },
  // The wait of ten seconds is too short for a sale whose calls reach mostly the nodes that are five blocks behind.
  { name: '0 to 5 blocks behind', lags: [0, 1, 2, 3, 4, 5], least: 14 },
  { name: 'two blocks behind', lags: [2], least: 19 },
  { name: 'three blocks behind', lags: [3], least: 18 },
  { name: '0, 0, 0 and 100 blocks behind', lags: [0, 0, 0, 100], least: 19 },
  { name: 'no block behind, with a block every five seconds', lags: [0], blockMs: 5_000, least: 19 },
]

/** What the facilitator replies, whether it sends the transfer, and the right answer. */
const REPLIES = [
  { errorReason: 'settlement_pending', isSent: true, right: 'answer' },
  { errorReason: 'insufficient_funds', isSent: false, right: 'payment_failed' },
] as const

const startedAt = Date.now()
const now = () => startedAt + (Date.now() - startedAt) * FASTER
const timer: Timer = (callback, milliseconds) => {
  const timeout = setTimeout(callback, milliseconds / FASTER)
  return () => clearTimeout(timeout)
}
const pause = (milliseconds: number) => new Promise<void>((resolve) => void timer(resolve, milliseconds))

/** The codes of the first answers, from sales at random times within a block. */
async function sell({ lags, blockMs = 2_000 }: Row, { errorReason, isSent }: (typeof REPLIES)[number]) {
  const random = randomFor(SEED, 0, 0)
  const chain = new LaggingChain({ chainId, blockMs, lags, now, random, wait: () => pause(CALL_MS) })
  const sale = await SaleHarness.open()
  try {
    await sale.import()
    setMaxListeners(SALES, sale.context.stopSignal)
    sale.now = () => new Date(now())
    sale.context.payments = {
      ...sale.context.payments,
      chain: readChainWith([chain.rpc], { chainId, now: sale.now, pause }),
      timer,
    }
    sale.script.settle = async ({ payload }) => {
      const { authorization } = payload as { authorization: AuthorizationFields }
      await pause(SETTLE_MS)
      const transaction = isSent ? chain.send(authorization) : ''
      return { success: false, errorReason, transaction, network: testTerms.network, payer: authorization.from }
    }
    const payments = await Promise.all(Array.from({ length: SALES }, () => signedPayment()))
    return await Promise.all(
      payments.map(async (payment) => {
        await pause(random() * blockMs)
        return codeOf(await sale.lookup(payment))
      }),
    )
  } finally {
    await sale.close()
  }
}

for (const reply of REPLIES)
  describe(`[5.7.2, 5.7.7] the first answer to sales with ${reply.errorReason}, with a node`, () => {
    const codes = new Map<Row, string[]>()

    before(async function () {
      this.timeout(240_000)
      await Promise.all(ROWS.map(async (row) => codes.set(row, await sell(row, reply))))
    })

    for (const row of ROWS)
      it(`${row.name} is ${reply.right} in at least ${row.least} of ${SALES} sales`, () => {
        const wrong = codes.get(row)?.filter((code) => code !== reply.right) ?? []
        expect(codes.get(row)).to.have.lengthOf(SALES)
        expect(wrong.length, wrong.join(', ')).to.be.at.most(SALES - row.least)
      })
  })
