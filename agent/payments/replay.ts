/** What a request gets whose payment is already on record: the whole rule as one table (decisions 2, step 3). */
import { STATES, type ResponseRecord, type State } from '../../store/record.ts'

/** What the log holds under the payment's identity. */
export const RECORDS = ['none', ...STATES] as const
/** Whether the payload, and the operation it is sent with, are the recorded ones. */
export const RELATIONS = ['same', 'other'] as const

export type Decision =
  /** New: go on with the checks. */
  | 'sell'
  /** Perhaps sent, and nobody knows: the chain decides. */
  | 'ask_chain'
  /** Bought: the stored answer again. */
  | 'repeat'
  /** Not charged, and never will be by us: a new signature is needed. */
  | 'refuse'
  /** The payment belongs to another request. */
  | 'conflict'

interface Row {
  record: readonly (State | 'none')[]
  payload: readonly ('same' | 'other')[]
  operation: readonly ('same' | 'other')[]
  decision: Decision
}

const same = ['same'] as const
const other = ['other'] as const

export const REPLAY_TABLE: readonly Row[] = [
  { record: ['none'], payload: RELATIONS, operation: RELATIONS, decision: 'sell' },
  { record: STATES, payload: other, operation: RELATIONS, decision: 'conflict' },
  { record: STATES, payload: same, operation: other, decision: 'conflict' },
  { record: ['prepared', 'settling', 'unknown'], payload: same, operation: same, decision: 'ask_chain' },
  { record: ['settled', 'confirmed'], payload: same, operation: same, decision: 'repeat' },
  { record: ['refused', 'rejected', 'expired'], payload: same, operation: same, decision: 'refuse' },
]

export interface Claimed {
  payment_hash: string
  operation_digest: string
}

export function decideReplay(record: ResponseRecord | undefined, request: Claimed): Decision {
  const held = record?.state ?? 'none'
  const payload = record?.payment_hash === request.payment_hash ? 'same' : 'other'
  const operation = record?.operation_digest === request.operation_digest ? 'same' : 'other'
  const row = REPLAY_TABLE.find(
    (each) => each.record.includes(held) && each.payload.includes(payload) && each.operation.includes(operation),
  )
  if (!row) throw new Error('The replay table has no row for this request')
  return row.decision
}
