/** A second node never makes the end of a payment worse than one node, and never ends one alone. */
import { expect } from 'chai'
import { paymentIdentity } from '../../agent/payment/binding.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { readChainWith } from '../../agent/settlement/chain/chain.ts'
import { startReconciler } from '../../agent/settlement/reconciler.ts'
import { RpcError, type Rpc } from '../../agent/settlement/rpc/json-rpc.ts'
import { RateLimited, ReplyError } from '../../agent/settlement/rpc/post-json.ts'
import { signedPayment, testTerms } from '../support/payments.ts'
import { nodeOf } from '../support/remotes/chain-node.ts'
import { authorizationOf, type SentPayment } from '../support/remotes/facilitator.ts'
import { Ledger } from '../support/remotes/ledger.ts'
import { codeOf, SaleHarness } from '../support/sale-harness.ts'
import { pausesOnly } from '../support/timers.ts'

const { chainId } = DEPLOYMENTS.testnet
const BLOCK_MS = 2_000
const MINUTE_MS = 60_000
const RUN_MS = 10_000
/** On Base about 15 minutes. */
const UNFINAL_BLOCKS = 450
const FINAL_MS = 15 * MINUTE_MS
const END_MS_MAX = 4 * MINUTE_MS
const AGAIN_MS = 100_000

describe('[5.7.5] a payment that expires', () => {
  let sale: SaleHarness
  let clock: number
  let right: Ledger
  let rightNode: Rpc

  beforeEach(async () => {
    // The time of a block.
    clock = Math.floor(Date.now() / BLOCK_MS) * BLOCK_MS
    sale = await SaleHarness.open()
    sale.now = () => new Date(clock)
    right = open()
    rightNode = nodeOf(right)
  })
  afterEach(() => sale.close())

  const open = (id: number = chainId) =>
    new Ledger({ unfinalBlocks: UNFINAL_BLOCKS, chainId: id, blockMs: BLOCK_MS, now: () => clock })

  /** Puts the transfer into the next block. */
  const sendOn = (ledger: Ledger, payload: SentPayment['paymentPayload']) =>
    ledger.transfer(authorizationOf(payload), ledger.newest + 1)

  function useNodes(...nodes: Rpc[]): void {
    const chain = readChainWith(nodes, { chainId, now: sale.now, pause: () => Promise.resolve() })
    sale.context.services = { ...sale.context.services, chain }
  }

  /** Runs only when the test says so. */
  const openReconciler = () =>
    startReconciler({
      services: sale.context.services,
      timer: () => () => undefined,
      runExclusively: (_key, work) => work(),
    })

  const failing =
    (cause: Error): Rpc =>
    () =>
      Promise.reject(cause)
  /** Refuses only the view. */
  const withoutView: Rpc = (method, params) =>
    method === 'eth_call' ? Promise.reject(new RpcError({ code: -32_000, message: 'no' })) : rightNode(method, params)

  /** Its newest final block stays the first one. */
  const withoutFinality: Rpc = (method, params) =>
    rightNode(method, params?.[0] === 'finalized' ? ['0x1', false] : params)

  /** Sells without a settlement, and reconciles until the payment ends. Returns the time after its final block. */
  async function expire(offsetMs = 0): Promise<number | undefined> {
    sale.script.settle = () => Promise.reject(new Error('no reply'))
    const payment = await signedPayment({ authorization: { validBefore: String(clock / 1000 + 60) } })
    expect(codeOf(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
    const { services } = sale.context
    const reconciler = openReconciler()
    clock += MINUTE_MS + FINAL_MS + offsetMs
    const start = clock - offsetMs
    let endedMs: number | undefined
    while (endedMs === undefined && clock - start <= 2 * END_MS_MAX) {
      await reconciler.reconcileDue()
      if ((await services.log.read(paymentIdentity(payment as never)))?.state === 'expired') endedMs = clock - start
      clock += RUN_MS
    }
    await reconciler.stop()
    return endedMs
  }

  const SECOND_NODES: Record<string, () => Rpc> = {
    'that is dead': () => failing(new ReplyError('UNREACHABLE')),
    'that hangs': () => failing(new DOMException('late', 'TimeoutError')),
    'that limits the rate': () => failing(new RateLimited('30')),
    'without the view': () => withoutView,
    'of another chain': () => nodeOf(open(1)),
    'whose final block does not advance': () => withoutFinality,
    'that is 100 blocks behind': () => nodeOf(right, 100),
  }
  for (const [name, openSecond] of Object.entries(SECOND_NODES))
    for (const position of ['first', 'second'] as const)
      it(`ends within four minutes with a node ${name}, as the ${position} one`, async () => {
        const nodes = [openSecond(), rightNode]
        useNodes(...(position === 'first' ? nodes : nodes.toReversed()))
        expect(await expire()).to.be.at.most(END_MS_MAX)
      })

  it('ends within four minutes with one node, whenever its final block is', async () => {
    for (let offset = -120; offset <= 0; offset += 15) {
      useNodes(rightNode)
      expect(await expire(offset * 1000)).to.be.at.most(END_MS_MAX)
    }
  })

  it('ends at the first observation with two nodes that agree', async () => {
    useNodes(rightNode, nodeOf(open()))
    expect(await expire()).to.equal(0)
  })

  it('does not end while one of three nodes shows its transfer', async () => {
    const other = open()
    useNodes(rightNode, nodeOf(open()), nodeOf(other))
    sale.script.settle = async (payload) => {
      sendOn(other, payload)
      throw new Error('no reply')
    }
    const payment = await signedPayment()
    await sale.lookup(payment)
    clock += FINAL_MS + 6 * MINUTE_MS
    const reconciler = openReconciler()
    for (let run = 0; run < 30; run += 1, clock += RUN_MS) await reconciler.reconcileDue()
    await reconciler.stop()
    expect(codeOf(await sale.lookup(payment))).to.be.oneOf(['answer', 'payment_outcome_unknown'])
  })

  for (const id of [chainId, 1])
    for (const errorReason of [undefined, 'settlement_pending', 'insufficient_funds'])
      it(`[5.7.2, 5.7.15] is never refused after ${errorReason ?? 'success'} while a node of chain ${id} does not show its transfer`, async () => {
        useNodes(nodeOf(open(id)), rightNode)
        let transaction: string | undefined
        sale.script.settle = async (payload) => {
          transaction ??= sendOn(right, payload)?.transaction
          clock += 2_000
          const common = { transaction, network: testTerms.network, payer: authorizationOf(payload).from }
          return { ...common, success: !errorReason, ...(errorReason && { errorReason }) }
        }
        const payment = await signedPayment()
        const codes = [codeOf(await sale.lookup(payment))]
        const { services } = sale.context
        const reconciler = openReconciler()
        for (let step = 0; step < 6; step += 1) {
          clock += 5 * MINUTE_MS
          await reconciler.reconcileDue()
          codes.push(codeOf(await sale.lookup(payment)))
        }
        await reconciler.stop()
        for (const code of codes) expect(code).to.be.oneOf(['answer', 'payment_outcome_unknown'])
        expect(codes.at(-1)).to.equal('answer')
        expect((await services.log.read(paymentIdentity(payment as never)))?.state).to.equal('confirmed')
      })

  for (const isPoorOnBoth of [true, false])
    it(`[5.7.14, 5.7.15] ${isPoorOnBoth ? 'is refused if' : 'is not refused unless'} both nodes show that its payer has no money`, async () => {
      const other = open()
      useNodes(rightNode, nodeOf(other))
      sale.script.settle = async (payload) => {
        const { from } = authorizationOf(payload)
        for (const each of isPoorOnBoth ? [right, other] : [right])
          each.accounts.set(from.toLowerCase(), { balance: 0 })
        clock += 2_000
        return { success: false, errorReason: 'insufficient_funds', transaction: '', network: testTerms.network }
      }
      sale.context.services.timer = (callback, milliseconds) => {
        if (milliseconds <= 2_000) clock += milliseconds
        return pausesOnly(callback, milliseconds)
      }
      const outcome = await sale.lookup(await signedPayment())
      expect(codeOf(outcome)).to.equal(isPoorOnBoth ? 'payment_failed' : 'payment_outcome_unknown')
    })

  it('[5.7.14] is answered by the node that shows it, although its block was recorded from another chain', async () => {
    const wrong = nodeOf(open())
    // Other blocks at the same heights.
    const renamed: Rpc = async (method, params) => renameHashes(await wrong(method, params))
    useNodes(renamed)
    sale.script.settle = async (payload) => {
      sendOn(right, payload)
      throw new Error('no reply')
    }
    const payment = await signedPayment()
    expect(codeOf(await sale.lookup(payment))).to.equal('payment_outcome_unknown')
    clock += AGAIN_MS
    useNodes(rightNode)
    expect(codeOf(await sale.lookup(payment))).to.equal('answer')
  })
})

function renameHashes(reply: unknown): unknown {
  return JSON.parse(JSON.stringify(reply).replaceAll('b1000000', 'b2000000'))
}
