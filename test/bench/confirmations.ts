/**
 * Confirmations a second by the reconciler, with a node in a process of its own that answers after 50 ms. The payments
 * are settled at the rate of a busy service, and their blocks are final when the reconciler begins.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WirePayment } from '../support/payments.ts'
import { openChain } from '../../agent/settlement/chain/chain.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { FacilitatorDoubts } from '../../agent/settlement/doubts.ts'
import { RecentAttempts } from '../../agent/settlement/recent-attempts.ts'
import { startReconciler } from '../../agent/settlement/reconciler.ts'
import type { SettlementServices } from '../../agent/settlement/services.ts'
import type { ResponseRecord } from '../../store/log/record.ts'
import { countOpen, type ResponseLog } from '../../store/log/responses.ts'
import { startRemotes } from './load/server-process.ts'

const NODE_MS = 50
const UNFINAL_BLOCKS = 1
/** Until the blocks of the payments are final. */
const FINAL_MS = 8_000
const PAYMENTS_AT_ONCE = 32

interface Confirmations {
  perSecond: number
  /** What the time was spent on. */
  bound: string
}

/** @param sample a record of a sale, of which copies with other nonces are settled */
export async function measureConfirmations(
  log: ResponseLog,
  sample: ResponseRecord,
  count: number,
): Promise<Confirmations> {
  await using remotes = await startRemotes(NODE_MS, UNFINAL_BLOCKS)
  const now = () => new Date()
  const chain = openChain({ urls: [`${remotes.url}/rpc`], chainId: DEPLOYMENTS.testnet.chainId, now })
  const { anchor } = await chain.observe([])
  let begun = 0
  const settleSome = async () => {
    while (begun < count) {
      begun += 1
      await settle(log, { ...sample, from_block: String(anchor.number), from_block_hash: anchor.hash }, remotes.url)
    }
  }
  await Promise.all(Array.from({ length: PAYMENTS_AT_ONCE }, settleSome))
  await sleep(FINAL_MS)
  const failures: unknown[] = []
  const services = {
    log,
    chain,
    recentAttempts: new RecentAttempts({ log, monotonic: () => performance.now(), timer: () => () => undefined }),
    doubts: new FacilitatorDoubts({ log, monotonic: () => performance.now() }),
    now,
    monotonic: () => performance.now(),
    report: (...failure: unknown[]) => void failures.push(failure),
  } as unknown as SettlementServices
  const [cpu, start] = [process.cpuUsage(), performance.now()]
  const reconciler = startReconciler({
    services,
    timer: () => () => undefined,
    runExclusively: (_hash, work) => work(),
  })
  await reconciler.reconcileDue()
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  await reconciler.stop()
  const open = await countOpen(log)
  if (open > 0 || failures.length > 0) throw new Error(`${open} payments were not confirmed: ${String(failures[0])}`)
  const busy = (user + system) / 1e6 / seconds
  return { perSecond: count / seconds, bound: busy > 0.8 ? 'the CPU of the process' : 'the replies of node and log' }
}

/** Settles a copy of the sample with the remote services, and stores it like a sale. */
async function settle(log: ResponseLog, sample: ResponseRecord, url: string): Promise<void> {
  const nonce = `0x${randomBytes(32).toString('hex')}`
  const { receipt: _, payment_id: __, ...rest } = sample
  const sent = rest.payment as unknown as WirePayment
  const payload = { ...sent.payload, authorization: { ...sent.payload.authorization, nonce } }
  const payment = { ...rest.payment, payload }
  const updated_at = new Date().toISOString()
  const record = {
    ...rest,
    identity: `${sample.identity.slice(0, sample.identity.lastIndexOf('/'))}/${nonce}`,
    payment_hash: nonce.slice(2),
    payment,
    state: 'prepared',
    payment_response: null,
    prepared_at: updated_at,
    updated_at,
  } as const
  await log.claim(record)
  const [network = ''] = sample.identity.split('/')
  const paymentRequirements = { network }
  const body = JSON.stringify({ paymentPayload: payment, paymentRequirements })
  const reply = await fetch(`${url}/settle`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
  const { transaction } = (await reply.json()) as { transaction: string }
  const payment_response = Buffer.from(JSON.stringify({ success: true, transaction })).toString('base64')
  // A confirmation keeps the receipt of this transaction.
  const receipt = `.${Buffer.from(JSON.stringify({ payment: { transaction } })).toString('base64url')}.`
  await log.advance(record, {
    state: 'settled',
    payment_response,
    receipt,
    reported_transaction: transaction,
    updated_at,
  })
}
