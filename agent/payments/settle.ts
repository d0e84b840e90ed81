/**
 * Settles the payment of a stored answer, leaving every step on disk before the next begins:
 *
 *   prepared -> the facilitator -> settled | refused | unknown (durable)
 *   unknown -> settling (durable) -> the facilitator -> settled | unknown (durable)
 *
 * The process may die at any `await` here; what it leaves behind is a state that says how much can have happened.
 */
import type { FacilitatorClient } from '@x402/core/server'
import type { PaymentRequirements, SettleResponse } from '@x402/core/types'
import { TRANSITIONS, type Change, type Place, type ResponseRecord, type State } from '../../store/record.ts'
import type { ResponseLog } from '../../store/responses.ts'
import type { Chain } from './chain.ts'
import { settle as askFacilitator, type Timer } from './facilitator.ts'
import type { Payment } from './headers.ts'

export interface PaymentDesk {
  log: ResponseLog
  facilitator: FacilitatorClient
  chain: Chain
  now: () => Date
  /** For the limits of time on what is asked of others. */
  timer: Timer
  /** Told of what went wrong outside; never given a payment, a signature or foreign text to show. */
  report: (event: string, cause: unknown) => void
}

type Step = Omit<Change, 'updated_at'> & { state: State }

/** Settles an `unknown` record whose nonce is free. Answers the record as it stands then. */
export async function settleAgain(desk: PaymentDesk, record: ResponseRecord): Promise<ResponseRecord> {
  const settling = await advance(desk, record, { state: 'settling', attempt: record.attempt + 1 })
  // Another process was faster, and may have begun this very attempt: then it is that one's to settle.
  return settling ? settleBegun(desk, settling) : readAgain(desk, record)
}

/** Settles a record that this very request has just `prepared`, or brought to `settling`. Answers it as it stands then. */
export async function settleBegun(desk: PaymentDesk, begun: ResponseRecord): Promise<ResponseRecord> {
  const { payment, requirements } = termsOf(begun)
  const settlement = await askFacilitator({ facilitator: desk.facilitator, timer: desk.timer, payment, requirements })
  if (settlement.kind === 'settled') return keepSuccess(desk, begun, settlement.transaction)
  desk.report(`settlement_${settlement.kind}`, settlement.kind === 'unclear' ? settlement.cause : settlement.reason)
  // After an earlier attempt a transaction of ours may still be on its way, and then no refusal counts.
  const isFirst = begun.attempt === 1
  const isRefused = isFirst && settlement.kind === 'refused' && (await isNonceFree(desk, begun))
  return move(desk, begun, { state: isRefused ? 'refused' : 'unknown' })
}

/** A success holds whatever another process has made of the record meanwhile, short of an end. */
async function keepSuccess(desk: PaymentDesk, record: ResponseRecord, transaction: string): Promise<ResponseRecord> {
  let current = record
  while ((TRANSITIONS[current.state] as readonly State[]).includes('settled')) {
    current = await move(desk, current, settledBy(current, transaction))
  }
  return current
}

/** Moves a record on from where it was seen; when another process was faster, answers where that one has brought it. */
export async function move(desk: PaymentDesk, from: Place, change: Step): Promise<ResponseRecord> {
  return (await advance(desk, from, change)) ?? readAgain(desk, from)
}

/** Undefined when the record is no longer where it was seen. */
function advance({ log, now }: PaymentDesk, from: Place, change: Step): Promise<ResponseRecord | undefined> {
  return log.advance(from, { ...change, updated_at: now().toISOString() })
}

async function readAgain({ log }: PaymentDesk, { identity }: Place): Promise<ResponseRecord> {
  const record = await log.read(identity)
  if (!record) throw new Error('A record has disappeared from the response log')
  return record
}

/** The change that makes a record settled, with the header that every answer from it will carry (x402 v2, base64). */
export function settledBy(record: ResponseRecord, transaction: string) {
  const { payment, requirements } = termsOf(record)
  const response: SettleResponse = {
    success: true,
    transaction,
    network: requirements.network,
    payer: payment.payload.authorization.from,
    amount: requirements.amount,
  }
  return { state: 'settled', payment_response: Buffer.from(JSON.stringify(response)).toString('base64') } as const
}

/** As they were when the record was made of them; its seal shows that they are the same. */
export function termsOf(record: ResponseRecord): { payment: Payment; requirements: PaymentRequirements } {
  return {
    payment: record.payment as unknown as Payment,
    requirements: record.requirements as unknown as PaymentRequirements,
  }
}

/** A refusal counts only if the nonce is unused; a chain that can't be asked leaves the outcome open. */
async function isNonceFree(desk: PaymentDesk, record: ResponseRecord): Promise<boolean> {
  try {
    return (await readEvidence(desk, record)).nonce === 'free'
  } catch (cause) {
    desk.report('chain_unavailable', cause)
    return false
  }
}

export function readEvidence({ chain }: PaymentDesk, record: ResponseRecord) {
  const { payment, requirements } = termsOf(record)
  return chain.evidence({
    asset: requirements.asset,
    authorization: payment.payload.authorization,
    fromBlock: BigInt(record.from_block),
  })
}
