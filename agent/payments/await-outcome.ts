/**
 * Reads the chain for a short time after a settlement without an explicit success. Many clients never repeat a request, and
 * the transfer is often on chain before or soon after an unclear reply. Only reads: the caller records the outcome.
 */
import type { ResponseRecord } from '../../store/record.ts'
import { DeadlineError, withDeadline } from '../rpc/deadline.ts'
import { tryReadEvidence } from './evidence.ts'
import { interpretEvidence, isNewerThan } from './finding.ts'
import { recordedPayment } from './recorded-payment.ts'
import type { PaymentServices } from './services.ts'

/** For all reads together. With a settlement of 30 s the answer still arrives within the 65 s of an A2A call. */
const WAIT_MS_MAX = 3_000
/** The pause before each read. Together longer than the two seconds between two blocks of Base. */
const PAUSES_MS = [0, 500, 1_000, 1_000]

type AwaitedOutcome = { kind: 'settled'; transaction: string } | { kind: 'refused' } | { kind: 'unknown' }

interface UnclearSettlement {
  record: ResponseRecord
  /** The facilitator refused the first attempt for a reason that exists only before broadcast. */
  isRefused: boolean
}

export function awaitOutcome(payments: PaymentServices, settlement: UnclearSettlement): Promise<AwaitedOutcome> {
  return read(payments, settlement, PAUSES_MS)
}

/** Reads the chain once, for the transfer of a payment that was not settled. */
export function readOutcomeOnce(payments: PaymentServices, record: ResponseRecord): Promise<AwaitedOutcome> {
  return read(payments, { record, isRefused: false }, [0])
}

async function read(
  payments: PaymentServices,
  settlement: UnclearSettlement,
  pauses: readonly number[],
): Promise<AwaitedOutcome> {
  const { timer } = payments
  const repliedAt = payments.now().getTime()
  try {
    return await withDeadline({ timer, milliseconds: WAIT_MS_MAX }, async (signal) => {
      for (const pause of pauses) {
        if (pause > 0) await new Promise<void>((resolve) => void timer(resolve, pause))
        if (signal.aborted) break
        const outcome = await readOutcome(payments, settlement, repliedAt)
        if (outcome.kind !== 'unknown') return outcome
      }
      return { kind: 'unknown' }
    })
  } catch (cause) {
    if (cause instanceof DeadlineError) return { kind: 'unknown' }
    throw cause
  }
}

async function readOutcome(
  payments: PaymentServices,
  { record, isRefused }: UnclearSettlement,
  repliedAt: number,
): Promise<AwaitedOutcome> {
  const evidence = await tryReadEvidence(payments, record)
  if (!evidence) return { kind: 'unknown' }
  const { payment, requirements } = recordedPayment(record)
  const { authorization } = payment.payload
  const finding = interpretEvidence({ evidence, authorization, requirements, now: payments.now() })
  const isPaid = finding === 'paid' || finding === 'paid_final'
  if (isPaid && evidence.nonce === 'used') return { kind: 'settled', transaction: evidence.transfer.transaction }
  // A block from before the reply does not show whether the facilitator has sent a transaction.
  const isUnused = evidence.nonce === 'free' && isNewerThan(evidence, repliedAt)
  return { kind: isRefused && isUnused ? 'refused' : 'unknown' }
}
