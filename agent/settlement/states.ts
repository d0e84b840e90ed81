/**
 * What a sale does in each state of a record: what the buyer gets, when a retry asks the chain, and what each status of
 * the chain does. store/log/states.ts has which states may follow.
 */
import type { RecordState } from '../../store/log/states.ts'

export const CHAIN_STATUSES = [
  /** The nonce was used by Transfer(payer, payTo, amount). Any account may have sent the transaction. */
  'paid',
  /** `paid` in a final block. */
  'paid_final',
  /** The nonce was cancelled or used by another transfer. A reorganisation could still undo that. */
  'spent',
  /** `spent` in a final block. */
  'spent_final',
  /** The nonce is free, and there is enough time to settle. */
  'free',
  /** The nonce is free and it is too late to settle, but no final block is past `validBefore`. */
  'expiring',
  /** The nonce is free in a final block past `validBefore`, so it can never be used. */
  'expired_final',
  /** The chain gives no answer that counts. */
  'unclear',
] as const

export type ChainStatus = (typeof CHAIN_STATUSES)[number]

/**
 * The answer of the chain that an action needs (chain/reader.ts). A single one can come from a fork, so what leaves a
 * payment unpaid must be agreed, or shown twice (judge-denial.ts).
 */
const PROOFS = {
  wait: 'none',
  /** Calls the facilitator again. */
  settle: 'single',
  settled: 'single',
  confirmed: 'single',
  refused: 'agreed',
  /** Returns a settled record to `unknown`: the chain does not show it. */
  reopen: 'agreed',
  /** Does the same, because the transaction that the facilitator reported has failed. */
  retract: 'single',
  rejected: 'agreed',
  expired: 'agreed',
} satisfies Record<string, 'none' | 'single' | 'agreed'>

export type Action = keyof typeof PROOFS

export const isDenial = (action: Action): boolean => PROOFS[action] === 'agreed'

type Moves = Readonly<Record<ChainStatus, Action>>

const OPEN: Moves = {
  paid: 'settled',
  paid_final: 'settled',
  spent: 'wait',
  spent_final: 'rejected',
  free: 'settle',
  expiring: 'wait',
  expired_final: 'expired',
  unclear: 'wait',
}
const SETTLED: Moves = {
  paid: 'wait',
  paid_final: 'confirmed',
  spent: 'reopen',
  spent_final: 'reopen',
  free: 'reopen',
  expiring: 'reopen',
  expired_final: 'reopen',
  unclear: 'wait',
}
const ENDED = Object.fromEntries(CHAIN_STATUSES.map((chainStatus) => [chainStatus, 'wait'])) as Moves
/** A retry finds the transfer of a payment that seemed not to be paid. */
const VOID: Moves = { ...ENDED, paid: 'settled', paid_final: 'settled' }

/** The time between two blocks of Base. */
const BLOCK_MS = 2_000
const MINUTE_MS = 60_000

interface StateRules {
  /** 200 with the stored answer, 503, or 402 with this reason. */
  buyer: 'answer' | 'outcome_unknown' | 'settlement_refused' | 'authorization_expired'
  /** The shortest time between two observations for retries. Without it, a retry observes nothing. */
  observeAfterMs?: number
  /** Whether a settlement may be in progress. A retry waits while it has a lease. */
  isAttempt?: true
  moves: Moves
}

export const STATE_RULES: Readonly<Record<RecordState, StateRules>> = {
  prepared: { buyer: 'outcome_unknown', observeAfterMs: BLOCK_MS, isAttempt: true, moves: OPEN },
  settling: { buyer: 'outcome_unknown', observeAfterMs: BLOCK_MS, isAttempt: true, moves: OPEN },
  /** Settled without a retry: the client was told to keep the payment, and a transfer may be pending. */
  unknown: { buyer: 'outcome_unknown', observeAfterMs: BLOCK_MS, moves: OPEN },
  settled: { buyer: 'answer', moves: SETTLED },
  /** Never settled again, because the buyer was told to sign again. A transfer that appears on chain still counts. */
  refused: { buyer: 'settlement_refused', moves: { ...OPEN, free: 'wait' } },
  confirmed: { buyer: 'answer', moves: ENDED },
  rejected: { buyer: 'settlement_refused', observeAfterMs: MINUTE_MS, moves: VOID },
  expired: { buyer: 'authorization_expired', observeAfterMs: MINUTE_MS, moves: VOID },
}

const ANSWERS: Record<StateRules['buyer'], string> = {
  answer: '200, the stored answer',
  outcome_unknown: '503 `payment_outcome_unknown`',
  settlement_refused: '402 `payment_failed`',
  authorization_expired: '402 `payment_failed`',
}

/** What the same request with the same payment gets, for the operator and the documents. */
export function describeRetry(state: RecordState): string {
  const { buyer, observeAfterMs, isAttempt } = STATE_RULES[state]
  const answer = ANSWERS[buyer]
  if (observeAfterMs === undefined) return answer
  const wait = isAttempt ? 'waits for its lease, then ' : ''
  return `${wait}observes the chain, at most every ${observeAfterMs / 1_000} s: 200 if it shows the transfer, else ${answer}`
}
