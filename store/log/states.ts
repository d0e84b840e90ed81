/** The states of a record, as the log knows them. agent/settlement/states.ts has what a sale does in each. */

interface StateRow {
  /** For the operator and the documents. */
  meaning: string
  /** The states that may follow. */
  next: readonly string[]
  /** Whether a final block has decided the payment. Other records are open: they are observed until one has. */
  isFinal: boolean
  /** Whether the transfer was reported or is on chain, so that the record has a receipt. */
  isPaid: boolean
  /** Whether another payment may take the payment id, because the buyer was told to sign again. */
  isIdFree: boolean
}

const OPEN = { isFinal: false, isPaid: false, isIdFree: false } as const
/** A retry can still find the transfer. */
const VOID = { next: ['settled'], isFinal: true, isPaid: false, isIdFree: true } as const

export const STATES = {
  prepared: {
    ...OPEN,
    meaning: 'response and payment are on disk; the first settlement may have started',
    next: ['settled', 'unknown', 'rejected', 'expired'],
  },
  settling: { ...OPEN, meaning: 'a further settlement may have started', next: ['settled', 'unknown'] },
  unknown: {
    ...OPEN,
    meaning: 'the outcome of a settlement is unknown',
    next: ['settling', 'settled', 'refused', 'rejected', 'expired'],
  },
  settled: {
    ...OPEN,
    isPaid: true,
    meaning: 'the facilitator reported success, or a block shows the transfer',
    next: ['confirmed', 'unknown'],
  },
  refused: {
    ...OPEN,
    isIdFree: true,
    meaning: 'the facilitator refused, and the token reverted the transfer',
    next: ['settled', 'rejected', 'expired'],
  },
  confirmed: {
    isFinal: true,
    isPaid: true,
    isIdFree: false,
    meaning: 'a final block shows the transfer',
    next: [],
  },
  rejected: { ...VOID, meaning: 'a final block shows that the nonce was used otherwise or cancelled' },
  expired: { ...VOID, meaning: 'the nonce is free in a final block past `validBefore`' },
} as const satisfies Record<string, StateRow>

export type RecordState = keyof typeof STATES

export const RECORD_STATES = Object.keys(STATES) as RecordState[]

export const isFinal = (state: RecordState): boolean => STATES[state].isFinal

export const OPEN_STATES = RECORD_STATES.filter((state) => !isFinal(state))

export const isIdFree = (state: RecordState): boolean => STATES[state].isIdFree

export const isPaid = (state: RecordState): boolean => STATES[state].isPaid

/** Whether, by the chain, the payment has transferred no money and never can. */
export const isVoid = (state: RecordState): boolean => isFinal(state) && isIdFree(state)

export function mayFollow(state: RecordState, next: RecordState): boolean {
  return (STATES[state].next as readonly RecordState[]).includes(next)
}
