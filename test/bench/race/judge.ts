/** What must be true of a response log after a race, given what it has acknowledged to whom. */
import type { ResponseRecord } from '../../../store/record.ts'
import type { ResponseLog } from '../../../store/responses.ts'
import { isFinal } from '../../../store/record.ts'

export type Acknowledged =
  | { kind: 'claimed'; identity: string; body: string }
  | { kind: 'held'; identity: string }
  | ({ kind: 'advanced' } & Pick<ResponseRecord, 'identity' | 'state' | 'attempt' | 'payment_response'>)

type Claimed = Extract<Acknowledged, { kind: 'claimed' }>
type Advanced = Extract<Acknowledged, { kind: 'advanced' }>

/** @returns what is not as it must be, a line each; at the end what has ended is removed from the log */
export async function judge(log: ResponseLog, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const faults: string[] = []
  const records = new Map<string, ResponseRecord>()
  for (const identity of new Set(acknowledged.map(({ identity: each }) => each))) {
    const record = await log.read(identity)
    if (record) records.set(identity, record)
    else faults.push(`${identity} is lost`)
  }

  const claims = new Set<string>()
  for (const { identity, body } of acknowledged.filter((each): each is Claimed => each.kind === 'claimed')) {
    if (claims.has(identity)) faults.push(`${identity} was given twice`)
    claims.add(identity)
    if (records.get(identity)?.body !== body) faults.push(`${identity} has another's answer`)
  }

  const steps = new Set<string>()
  for (const step of acknowledged.filter((each): each is Advanced => each.kind === 'advanced')) {
    const { identity, state, attempt, payment_response } = step
    const place = `${identity}, step ${attempt},`
    if (steps.has(place)) faults.push(`${place} was taken twice`)
    steps.add(place)
    const record = records.get(identity)
    if (!record) continue
    const isLast = record.attempt === attempt
    if (record.attempt < attempt) faults.push(`${place} is undone`)
    if (isLast && (record.state !== state || record.payment_response !== payment_response))
      faults.push(`${place} is another's`)
  }

  const listed = new Set(await log.unfinished())
  for (const [identity, { state }] of records)
    if (listed.has(identity) === isFinal(state)) faults.push(`${identity} is ${state} and listed the wrong way`)

  faults.push(...(await judgeIds(log, [...records.values()])))

  await log.prune({ before: new Date('9999-01-01'), max: Number.MAX_SAFE_INTEGER })
  for (const [identity, { state }] of records) {
    const isThere = (await log.read(identity)) !== undefined
    if (isThere === isFinal(state)) faults.push(`${identity} is ${state} and ${isThere ? 'not ' : ''}removed as ended`)
  }
  return faults
}

async function judgeIds(log: ResponseLog, records: readonly ResponseRecord[]): Promise<string[]> {
  const faults: string[] = []
  const holders = new Map<string, string[]>()
  for (const { payment_id, identity, state } of records) {
    if (payment_id === undefined || state === 'rejected' || state === 'expired') continue
    holders.set(payment_id, [...(holders.get(payment_id) ?? []), identity])
  }
  for (const [id, [holder, ...more]] of holders) {
    if (more.length > 0) faults.push(`the id ${id} is held by ${1 + more.length} payments`)
    else if ((await log.read('of another payment', id))?.identity !== holder) faults.push(`the id ${id} is lost`)
  }
  return faults
}
