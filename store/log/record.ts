/** A record of the response log, its changes and its encoding. */
import { isFinal, isPaid, mayFollow, type RecordState } from './states.ts'
import { CorruptRecordError, decodeWithChecksum, encodeWithChecksum } from '../files/checksum.ts'

export type Claim =
  | { kind: 'claimed'; record: ResponseRecord }
  /** The identity or the payment id belongs to this record. */
  | { kind: 'taken'; record: ResponseRecord }
  /** The document has another revision. Nothing was written. */
  | { kind: 'outdated' }

/** The first observation of any process that showed a payment as not paid, until another one agrees or disagrees. */
export interface FirstDenial {
  readonly action: string
  /** Of the newest block, in seconds. */
  readonly time: string
  readonly final_block: string
  readonly at: string
}

/**
 * Shows that the process of a settlement is alive. A reader counts the duration on its own clock, from when it first
 * saw this number of renewals.
 */
export interface Lease {
  readonly duration_ms: number
  readonly renewals: number
}

/** What a change can set. */
interface RecordProgress {
  readonly state: RecordState
  /** The number of settlements that may have been started. A new record has 1. */
  readonly attempt: number
  /** When the last settlement began. Absent while there was only the first one, which began at `prepared_at`. */
  readonly settling_at?: string
  /** Of the last settlement, until its outcome is stored. */
  readonly lease?: Lease | undefined
  /** The settlements that the token contract reverted, in a simulation or on chain. Absent means 0. */
  readonly reverts?: number
  /** The transaction that the facilitator reported last, also without success. */
  readonly reported_transaction?: string
  /**
   * When the facilitator refused the first settlement before broadcast, on the later of the clocks of service and
   * chain. A newer block with a free nonce makes the refusal final.
   */
  readonly refused_at?: string
  /** The `PAYMENT-RESPONSE` header, after settlement. */
  readonly payment_response: string | null
  /** The receipt of this settlement, a JWT (contract 5.9). Added at the next replay if it could not be signed. */
  readonly receipt?: string | undefined
  /** When the record is to be looked at next. Absent means at once. */
  readonly due_at?: string
  readonly first_denial?: FirstDenial | undefined
  /** Like all times of a record, ISO 8601 in UTC. */
  readonly updated_at: string
}

export interface ResponseRecord extends RecordProgress {
  /** Network, asset, payer and nonce, in lower case. */
  readonly identity: string
  /** The payer and the payment id that the buyer gave, if any. */
  readonly payment_id?: string
  /** SHA-256 of the RFC 8785 form of the whole decoded payment payload. */
  readonly payment_hash: string
  /** SHA-256 of the canonical operation that the payment bought. */
  readonly operation_digest: string
  /** That operation. */
  readonly operation: object
  /** The payment payload and its requirements, to settle again after a crash. Never logged. */
  readonly payment: Record<string, unknown>
  readonly requirements: Record<string, unknown>
  /** The URL of the facilitator that verified the payment, or `self`. Only this one settles it. */
  readonly facilitator?: string
  /**
   * The anchor block of the observation before the first settlement, in decimal. No older block contains this payment.
   */
  readonly from_block: string
  /** The hash of that block, which identifies the chain. Without it, the block is not compared. */
  readonly from_block_hash?: string
  readonly snapshot_id: string
  /** The response body, byte for byte. */
  readonly body: string
  readonly prepared_at: string
}

export type RecordChange = Pick<RecordProgress, 'state' | 'updated_at'> & Partial<RecordProgress>

/**
 * A transition is written only if the record still has this version, so only one of several concurrent ones succeeds.
 */
type RecordVersion = Pick<ResponseRecord, 'state' | 'attempt' | 'receipt'>

/** Compares the receipt too, so that a transition never replaces a receipt that was stored meanwhile. */
export function isVersion(record: RecordVersion, from: RecordVersion): boolean {
  return record.state === from.state && record.attempt === from.attempt && record.receipt === from.receipt
}

/** @throws if only a defect of the caller can cause this transition */
export function checkTransition({ state, receipt }: RecordVersion, change: RecordChange): void {
  const next = change.state
  const isReceipt = isPaid(state) && receipt === undefined && change.receipt !== undefined
  const isNote = !isFinal(state) && NOTES.some((name) => name in change)
  const isAllowed = state === next ? isReceipt || isNote : mayFollow(state, next)
  if (!isAllowed) throw new Error(`A ${state} record cannot become ${next}`)
}

/** What is noted for a state, and ends with it. */
const NOTES = ['due_at', 'first_denial', 'lease'] as const

export function applyChange(record: ResponseRecord, change: RecordChange): ResponseRecord {
  const next: Partial<ResponseRecord> = { ...record, ...change }
  if (record.state !== change.state) for (const name of NOTES) if (!(name in change)) delete next[name]
  return next as ResponseRecord
}

/** What a change can set. */
const PROGRESS: ReadonlySet<string> = new Set(
  Object.keys({
    state: true,
    attempt: true,
    settling_at: true,
    lease: true,
    reverts: true,
    reported_transaction: true,
    refused_at: true,
    payment_response: true,
    receipt: true,
    due_at: true,
    first_denial: true,
    updated_at: true,
  } satisfies Record<keyof RecordProgress, true>),
)

/**
 * The members of a record that are its progress, or the others. `Object.entries` takes five times as long, and rest
 * elements more (`bench perf`, row "paid lookup").
 */
function membersOf(record: ResponseRecord, areProgress: boolean) {
  const members: Record<string, unknown> = {}
  for (const name of Object.keys(record) as (keyof ResponseRecord)[])
    if (PROGRESS.has(name) === areProgress) members[name] = record[name]
  return members
}

/** A new record. Without a stored progress a record still has this version. */
export const NEW_VERSION = { state: 'prepared', attempt: 1 } as const

/** The record with the progress that is stored. */
export function withProgress(record: ResponseRecord, progress: RecordProgress): ResponseRecord {
  return { ...(membersOf(record, false) as unknown as ResponseRecord), ...progress }
}

/** Separates the members of a record from its body. JSON has it only as an escape. */
const BODY_MARK = '\n'

/** The body as it is, because its quotation marks would be escaped in a JSON string. */
export function encodeRecord(record: ResponseRecord): Buffer {
  return encodeWithChecksum(`${JSON.stringify({ ...record, body: undefined })}${BODY_MARK}${record.body}`)
}

export function encodeProgress(record: ResponseRecord): Buffer {
  return encodeWithChecksum(JSON.stringify(membersOf(record, true)), record.identity)
}

/** @throws CorruptRecordError */
export function decodeProgress(bytes: Buffer, identity: string): RecordProgress {
  return JSON.parse(decodeWithChecksum(bytes, identity)) as RecordProgress
}

/**
 * The record of a claim, with its progress since. The checksums are the only checks: only this service writes these
 * bytes. The caller compares the key.
 * @throws CorruptRecordError
 */
export function decodeRecord(bytes: Buffer, progress?: Buffer | null): ResponseRecord {
  const text = decodeWithChecksum(bytes)
  const end = text.indexOf(BODY_MARK)
  const members = JSON.parse(text.slice(0, end)) as ResponseRecord
  const record = Object.assign(members, { body: text.slice(end + BODY_MARK.length) })
  return progress ? withProgress(record, decodeProgress(progress, record.identity)) : record
}

export const otherKey = () => new CorruptRecordError('A stored record has the key of another one')
