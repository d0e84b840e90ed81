/** Checks a response log after a race against the changes that it acknowledged. */
import { hash } from 'node:crypto'
import { isIdFree, isFinal, type ResponseRecord } from '../../../store/log/record.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'

interface Wanted {
  /** The claimed payment, and its payment id if it had one. */
  identity: string
  paymentId?: string
}

export type Acknowledged =
  | ({ kind: 'claimed'; digest: string } & Wanted)
  | ({ kind: 'held'; holder: string } & Wanted)
  | ({ kind: 'advanced' } & Pick<ResponseRecord, 'identity' | 'state' | 'attempt' | 'payment_response'>)

type Of<Kind extends Acknowledged['kind']> = Extract<Acknowledged, { kind: Kind }>

interface Found extends Omit<ResponseRecord, 'body'> {
  digest: string
}

export const digestOf = (body: string): string => hash('sha256', body)

/** @returns one line for each fault. Removes the final records from the log. */
export async function checkLog(log: ResponseLog, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const faults: string[] = []
  const allOf = <Kind extends Acknowledged['kind']>(kind: Kind) =>
    acknowledged.filter((each): each is Of<Kind> => each.kind === kind)
  const [claimed, held, advanced] = [allOf('claimed'), allOf('held'), allOf('advanced')]

  async function look(identity: string, paymentId?: string): Promise<ResponseRecord | undefined> {
    try {
      return await log.read(identity, paymentId)
    } catch (cause) {
      faults.push(`${identity} ${paymentId ?? ''} cannot be read: ${cause instanceof Error ? cause.message : ''}`)
      return undefined
    }
  }

  const records = new Map<string, Found>()
  const named = [...claimed, ...advanced].map(({ identity }) => identity)
  for (const identity of new Set([...named, ...held.map(({ holder }) => holder)])) {
    const record = await look(identity)
    if (!record) faults.push(`${identity} is lost`)
    else records.set(identity, { ...record, digest: digestOf(record.body) })
  }

  faults.push(...checkClaims({ records, claimed, held }), ...checkSteps({ records, advanced }))

  const listed = new Set(await log.unfinished())
  for (const [identity, { state }] of records)
    if (listed.has(identity) === isFinal(state))
      faults.push(`${identity} is ${state} and wrongly ${listed.has(identity) ? '' : 'not '}listed as unfinished`)

  const holdersOf = new Map<string, Found[]>()
  for (const { paymentId } of [...claimed, ...held]) if (paymentId !== undefined) holdersOf.set(paymentId, [])
  for (const record of records.values())
    if (record.payment_id !== undefined && !isIdFree(record.state)) holdersOf.get(record.payment_id)?.push(record)
  for (const [id, holders] of holdersOf) {
    const holder = await look('of another payment', id)
    if (holders.length > 1) faults.push(`the id ${id} is held by ${holders.length} payments`)
    else if (holders[0] && holder?.identity !== holders[0].identity) faults.push(`the id ${id} is lost`)
    // The holder may be a payment whose claim was not acknowledged.
    else if (holder && (holder.payment_id !== id || isIdFree(holder.state)))
      faults.push(`the id ${id} was not released`)
  }

  await log.prune({ before: new Date('9999-01-01'), max: Number.MAX_SAFE_INTEGER })
  for (const [identity, { state }] of records) {
    const isThere = (await look(identity)) !== undefined
    if (isThere === isFinal(state)) faults.push(`${identity} is ${state} and ${isThere ? 'not ' : ''}removed as final`)
  }
  return faults
}

interface Claims {
  records: ReadonlyMap<string, Found>
  claimed: readonly Of<'claimed'>[]
  held: readonly Of<'held'>[]
}

function checkClaims({ records, claimed, held }: Claims): string[] {
  const faults: string[] = []
  const granted = new Set<string>()
  for (const { identity, digest } of claimed) {
    if (granted.has(identity)) faults.push(`${identity} was claimed twice`)
    granted.add(identity)
    if (records.get(identity)?.digest !== digest) faults.push(`${identity} has the body of another claim`)
  }
  for (const { identity, paymentId, holder } of held) {
    const isById = paymentId !== undefined && records.get(holder)?.payment_id === paymentId
    if (holder !== identity && !isById)
      faults.push(`${identity} was refused because of ${holder}, which does not conflict with it`)
  }
  return faults
}

interface Steps {
  records: ReadonlyMap<string, Found>
  advanced: readonly Of<'advanced'>[]
}

function checkSteps({ records, advanced }: Steps): string[] {
  const faults: string[] = []
  const steps = new Set<string>()
  for (const { identity, state, attempt, payment_response } of advanced) {
    const change = `${identity}, step ${attempt},`
    if (steps.has(change)) faults.push(`${change} was made twice`)
    steps.add(change)
    const record = records.get(identity)
    if (!record) continue
    const isLast = record.attempt === attempt
    if (record.attempt < attempt) faults.push(`${change} is lost`)
    if (isLast && (record.state !== state || record.payment_response !== payment_response))
      faults.push(`${change} has other content`)
  }
  return faults
}
