/**
 * A record of the response log: its states, what may follow which, and its form on disk.
 *
 * That form is sealed: a line of JSON as it was claimed (or as a program of an older layout left it) and, behind the first
 * step, a second one of what has changed since. So a step need not make the answer's text anew.
 */
import { randomInt } from 'node:crypto'
import { SEAL_BYTES, seal, unseal } from './seal.ts'

/** From each state the states that may follow. What has no follower is final. */
export const TRANSITIONS = {
  /** The answer is stored, and its settlement may begin; nobody knows how far it came. */
  prepared: ['settled', 'refused', 'unknown', 'rejected', 'expired'],
  /** A further one was begun; likewise. */
  settling: ['settled', 'refused', 'unknown'],
  unknown: ['settling', 'settled', 'rejected', 'expired'],
  /** Said by the facilitator, or seen in a block that is not final: audited until it is. */
  settled: ['confirmed', 'unknown'],
  /** Said by the facilitator, with a nonce that was free: audited likewise. */
  refused: ['settled', 'rejected', 'expired'],
  confirmed: [],
  rejected: [],
  expired: [],
} as const satisfies Record<string, readonly string[]>

export const STATES = Object.keys(TRANSITIONS) as (keyof typeof TRANSITIONS)[]

export type State = (typeof STATES)[number]

export interface ResponseRecord {
  /** Network, asset, payer and nonce, lower case. */
  readonly identity: string
  /** The payer and the id that he gave the payment, where he gave one. */
  readonly payment_id?: string
  /** SHA-256 of the RFC 8785 form of the whole decoded payment payload. */
  readonly payment_hash: string
  /** SHA-256 of the canonical operation that the payment bought. */
  readonly operation_digest: string
  readonly state: State
  /** How many settlements were begun at most: 1 for what is prepared; 0 in logs whose settlements were begun apart. */
  readonly attempt: number
  /** The payment payload and the terms it was taken on, to settle again after a crash. Never logged. */
  readonly payment: Record<string, unknown>
  readonly requirements: Record<string, unknown>
  /** The head of the chain before the first settlement, in decimal: nothing of this payment can be in an older block. */
  readonly from_block: string
  readonly snapshot_id: string
  /** The answer as it is sent, byte for byte. */
  readonly body: string
  /** The `PAYMENT-RESPONSE` header, once settled. */
  readonly payment_response: string | null
  /** Both ISO 8601, in UTC. */
  readonly prepared_at: string
  readonly updated_at: string
}

/** The place in a record's life that a step starts from; the fence against whoever else works on it. */
export type Place = Pick<ResponseRecord, 'identity' | 'state' | 'attempt'>

export type Change = Partial<Pick<ResponseRecord, 'state' | 'attempt' | 'payment_response'>> & { updated_at: string }

export function isFinal(state: State): boolean {
  return TRANSITIONS[state].length === 0
}

/** No money was taken for such a payment, and none ever will be: its id is free for another. */
export function hasComeToNothing(state: State): boolean {
  return state === 'rejected' || state === 'expired'
}

/** So large that two lives of a record never share a revision, and small enough to be counted on exactly. */
const FIRST_REVISION_MAX = 2 ** 47

/** Where the count of a record's revisions begins: what was seen of one that was removed leads to no step in the next. */
export function firstRevision(): number {
  return randomInt(1, FIRST_REVISION_MAX)
}

/** What a record is on disk when its place is taken. */
export function claimedBytes(record: ResponseRecord): Buffer {
  return seal(JSON.stringify(record))
}

/** What `record` is on disk whose bytes were these before its last step. */
export function advancedBytes(before: Buffer, record: ResponseRecord): Buffer {
  const end = before.indexOf('\n', SEAL_BYTES)
  const claimed = before.subarray(SEAL_BYTES, end < 0 ? before.length : end)
  const { state, attempt, payment_response, updated_at } = record
  return seal(claimed, `\n${JSON.stringify({ state, attempt, payment_response, updated_at } satisfies Change)}`)
}

/** The seal shows that a program of ours wrote it; throws `CorruptRecord` where it does not fit. */
export function recordIn(bytes: Buffer): ResponseRecord {
  const [claimed = '', changed = '{}'] = unseal(bytes).split('\n')
  return { ...(JSON.parse(claimed) as ResponseRecord), ...(JSON.parse(changed) as Change) }
}
