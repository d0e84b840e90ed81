/**
 * The port of the rate limit: the slots of the last minute, which all processes share. store/window-slots.ts keeps them in
 * LMDB or in memory, store/postgres/slots.ts in PostgreSQL.
 */

export const SLOT_KINDS = ['trial', 'known', 'paid', 'failed'] as const

export type SlotKind = (typeof SLOT_KINDS)[number]

/**
 * For each kind of admission, the groups of kinds that limit it. Each group must have fewer slots than the limit.
 * `trial` is a payment of a payer without a settled payment: it may still fail, so it shares a quota with `failed`.
 * A payment counts as `paid` only once it is verified and something is sold for it.
 */
export const LIMITED_GROUPS = {
  trial: [['paid'], ['trial', 'failed']],
  known: [['paid']],
  paid: [['paid']],
} as const satisfies Partial<Record<SlotKind, readonly (readonly SlotKind[])[]>>

export type AdmissionKind = keyof typeof LIMITED_GROUPS

/** How long a slot counts after it was taken. */
export const WINDOW_MS = 60_000

/** Slots are taken and counted in groups of the limit divided by this number; one by one if that is less than two. */
export const LEASES_PER_LIMIT = 1_000

/** Counts until a minute has passed, unless it is released. */
export interface TakenSlot {
  kind: 'taken'
  /** The slot counts no longer. Later calls change nothing. */
  release(): void
  /** Counts the slot of a trial as failed from now on. Releases every other slot. */
  markFailed(): void
}

export interface NoSlot {
  kind: 'full'
  /** Time until a slot is free. */
  waitMs: number
}

export interface Slots {
  /** @throws StoreError if shared slots cannot be reached */
  take(kind: AdmissionKind): Promise<TakenSlot | NoSlot>
  /** The slots that count now, by kind. */
  counts(): Promise<Partial<Record<SlotKind, number>>>
  close(): Promise<void>
}
