/**
 * Brings a record forward by what the chain shows of its authorization, and by nothing else (decisions 5). The rule is
 * two tables: what the evidence means (`judge`), and what that does to a record of each state (`ACTIONS`).
 */
import type { ResponseRecord, State } from '../../store/record.ts'
import { SECONDS_LEFT_MIN } from './authorization.ts'
import type { Evidence } from './chain.ts'
import type { Authorization } from './headers.ts'
import { move, readEvidence, settleAgain, settledBy, termsOf, type PaymentDesk } from './settle.ts'

export const FINDINGS = [
  /** The nonce is spent by Transfer(payer, payTo, amount), whoever sent it. */
  'paid',
  /** The same, in a final block. */
  'paid_for_good',
  /** The nonce is spent otherwise or cancelled, but a reorganisation could still let our transfer through. */
  'spent',
  /** The same, in a final block. */
  'spent_for_good',
  /** The nonce is free, with time enough to settle. */
  'free',
  /** The nonce is free and the time over or nearly so, but not yet in a final block. */
  'late',
  /** The nonce is free in a final block past the authorization's end: it can never be used. */
  'over',
  /** The node can't be asked, or contradicts itself. */
  'nothing',
] as const

export type Finding = (typeof FINDINGS)[number]

export type Action = 'wait' | 'settle' | 'forget' | 'settled' | 'confirmed' | 'rejected' | 'expired'

type Actions = Record<Finding, Action>

/**
 * What becomes of a record, by state and finding. `settle` asks the facilitator again: one nonce, one charge. `forget`
 * takes a settlement for not known that the chain doesn't show, and goes on from there.
 *
 * Nobody is charged for an answer that was only prepared unless he asks for it again: he may never come back. What was
 * begun is ended: its buyer was told to keep the payment, and his money may be on its way.
 */
const UNKNOWN: Actions = {
  paid: 'settled',
  paid_for_good: 'settled',
  spent: 'wait',
  spent_for_good: 'rejected',
  free: 'settle',
  late: 'wait',
  over: 'expired',
  nothing: 'wait',
}
const FINISHED: Actions = {
  paid: 'wait',
  paid_for_good: 'wait',
  spent: 'wait',
  spent_for_good: 'wait',
  free: 'wait',
  late: 'wait',
  over: 'wait',
  nothing: 'wait',
}
export const ACTIONS: Record<Exclude<State, 'settling'>, Actions> = {
  prepared: { ...UNKNOWN, free: 'wait' },
  unknown: UNKNOWN,
  /** The buyer was told to sign again, so this payment is never sent again; only what arrives all the same counts. */
  refused: { ...UNKNOWN, free: 'wait' },
  settled: {
    paid: 'wait',
    paid_for_good: 'confirmed',
    spent: 'forget',
    spent_for_good: 'forget',
    free: 'forget',
    late: 'forget',
    over: 'forget',
    nothing: 'wait',
  },
  confirmed: FINISHED,
  rejected: FINISHED,
  expired: FINISHED,
}

export interface Judged {
  evidence: Evidence
  authorization: Authorization
  requirements: { payTo: string; amount: string }
  now: Date
}

/** What the evidence means for the payment. */
export function judge({ evidence, authorization, requirements, now }: Judged): Finding {
  switch (evidence.nonce) {
    case 'used': {
      const { from, to, value } = evidence.transfer
      const isOurs =
        isSameAddress(from, authorization.from) &&
        isSameAddress(to, requirements.payTo) &&
        value === BigInt(requirements.amount)
      if (isOurs) return evidence.isFinal ? 'paid_for_good' : 'paid'
      return evidence.isFinal ? 'spent_for_good' : 'spent'
    }
    case 'cancelled':
      return evidence.isFinal ? 'spent_for_good' : 'spent'
    case 'free': {
      const validBefore = BigInt(authorization.validBefore)
      if (evidence.finalTime >= validBefore) return 'over'
      const secondsLeft = validBefore - BigInt(Math.floor(now.getTime() / 1000))
      return secondsLeft >= SECONDS_LEFT_MIN ? 'free' : 'late'
    }
    case 'unclear':
      return 'nothing'
  }
}

/** Asks the chain once about a record that is not finished, and acts on what it shows. */
export async function reconcile(desk: PaymentDesk, record: ResponseRecord): Promise<ResponseRecord> {
  const left = record.state === 'settling' ? await giveUp(desk, record) : record
  // Another was faster, and has begun anew.
  if (left.state === 'settling') return left
  const evidence = await ask(desk, left)
  return evidence ? act(desk, left, evidence) : left
}

/** The same for a buyer who has come back for his answer: what was only prepared is then settled, too. */
export async function reconcileForBuyer(desk: PaymentDesk, record: ResponseRecord): Promise<ResponseRecord> {
  return reconcile(desk, record.state === 'prepared' ? await giveUp(desk, record) : record)
}

/** Whoever was settling is gone, or takes too long; from here on nothing is assumed of that attempt. */
function giveUp(desk: PaymentDesk, record: ResponseRecord): Promise<ResponseRecord> {
  return move(desk, record, { state: 'unknown' })
}

async function act(desk: PaymentDesk, record: ResponseRecord, evidence: Evidence): Promise<ResponseRecord> {
  if (record.state === 'settling') return record
  const { payment, requirements } = termsOf(record)
  const { authorization } = payment.payload
  const action = ACTIONS[record.state][judge({ evidence, authorization, requirements, now: desk.now() })]
  switch (action) {
    case 'wait':
      return record
    case 'settle':
      return settleAgain(desk, record)
    case 'forget': {
      if (!isAfter(evidence, record)) return record
      desk.report('settlement_not_on_chain', `state ${evidence.nonce}`)
      const unknown = await move(desk, record, { state: 'unknown', payment_response: null })
      return unknown.state === 'unknown' ? act(desk, unknown, evidence) : unknown
    }
    case 'settled':
    case 'confirmed':
      return move(desk, record, { ...settledBy(record, transactionIn(evidence)), state: action })
    case 'rejected':
    case 'expired':
      return move(desk, record, { state: action })
  }
}

/**
 * Whether evidence against a settlement is from a block made after it: a node that lags shows a nonce as free that was
 * used a moment ago.
 */
function isAfter(evidence: Evidence, { updated_at }: ResponseRecord): boolean {
  return evidence.nonce !== 'free' || Number(evidence.time) * 1000 > Date.parse(updated_at)
}

/** The receipt then names the transaction that the chain has, whatever the facilitator has said. */
function transactionIn(evidence: Evidence): string {
  if (evidence.nonce !== 'used') throw new Error('A settlement without a transfer')
  return evidence.transfer.transaction
}

async function ask(desk: PaymentDesk, record: ResponseRecord): Promise<Evidence | undefined> {
  try {
    return await readEvidence(desk, record)
  } catch (cause) {
    desk.report('chain_unavailable', cause)
    return undefined
  }
}

function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
