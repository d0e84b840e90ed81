/**
 * Ends what is unknown, by evidence from the chain and by nothing else (decisions 5).
 *
 *   nonce spent by Transfer(payer, payTo, amount)  -> settled, whoever sent it
 *   nonce spent otherwise, or cancelled            -> rejected
 *   nonce free, final block past validBefore       -> expired
 *   nonce free, time left                          -> settle again: one nonce, one charge
 *   anything else                                  -> still unknown
 */
import type { ResponseRecord } from '../../store/responses.ts'
import { SECONDS_LEFT_MIN } from './authorization.ts'
import type { Evidence } from './chain.ts'
import type { Authorization } from './headers.ts'
import { move, readEvidence, settledBy, settleRecord, termsOf, type PaymentDesk } from './settle.ts'

export type Verdict =
  { kind: 'settled'; transaction: string } | { kind: 'rejected' | 'expired' | 'settle_again' | 'unknown' }

export interface Judged {
  evidence: Evidence
  authorization: Authorization
  requirements: { payTo: string; amount: string }
  now: Date
}

/** What follows from the evidence. Pure, so that every line of the table above is a test. */
export function judge({ evidence, authorization, requirements, now }: Judged): Verdict {
  switch (evidence.nonce) {
    case 'used': {
      const { from, to, value, transaction } = evidence.transfer
      const isOurs =
        isSameAddress(from, authorization.from) &&
        isSameAddress(to, requirements.payTo) &&
        value === BigInt(requirements.amount)
      return isOurs ? { kind: 'settled', transaction } : { kind: 'rejected' }
    }
    case 'cancelled':
      return { kind: 'rejected' }
    case 'free': {
      const validBefore = BigInt(authorization.validBefore)
      if (evidence.finalTime >= validBefore) return { kind: 'expired' }
      const secondsLeft = validBefore - BigInt(Math.floor(now.getTime() / 1000))
      return { kind: secondsLeft >= SECONDS_LEFT_MIN ? 'settle_again' : 'unknown' }
    }
    case 'unclear':
      return { kind: 'unknown' }
  }
}

/** Asks the chain once about a record that is `settling` or `unknown`, and acts on the verdict. */
export async function reconcile(desk: PaymentDesk, record: ResponseRecord): Promise<ResponseRecord> {
  // Whoever was settling is gone, or was given up on; from here on nothing is assumed of that attempt.
  const unknown = record.state === 'settling' ? await move(desk, record, { state: 'unknown' }) : record
  if (unknown.state !== 'unknown') return unknown
  const verdict = await ask(desk, unknown)
  switch (verdict.kind) {
    case 'settled':
      return move(desk, unknown, settledBy(unknown, verdict.transaction))
    case 'rejected':
    case 'expired':
      return move(desk, unknown, { state: verdict.kind })
    case 'settle_again':
      return settleRecord(desk, unknown)
    case 'unknown':
      return unknown
  }
}

async function ask(desk: PaymentDesk, record: ResponseRecord): Promise<Verdict> {
  const { payment, requirements } = termsOf(record)
  try {
    const evidence = await readEvidence(desk, record)
    return judge({ evidence, authorization: payment.payload.authorization, requirements, now: desk.now() })
  } catch (cause) {
    desk.report('chain_unavailable', cause)
    return { kind: 'unknown' }
  }
}

function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
