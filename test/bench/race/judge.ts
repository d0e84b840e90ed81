/** What must be true of a response log after a race, given what it has acknowledged to whom. */
import { hash } from 'node:crypto'
import { hasComeToNothing, isFinal, type ResponseRecord } from '../../../store/record.ts'
import type { ResponseLog } from '../../../store/responses.ts'

interface Wanted {
  /** Of the payment that wanted a place, and its payment id where it had one. */
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

/** @returns what is not as it must be, a line each; at the end what has ended is removed from the log */
export async function judge(log: ResponseLog, acknowledged: readonly Acknowledged[]): Promise<string[]> {
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

  faults.push(...judgeClaims({ records, claimed, held }), ...judgeSteps({ records, advanced }))

  const listed = new Set(await log.unfinished())
  for (const [identity, { state }] of records)
    if (listed.has(identity) === isFinal(state)) faults.push(`${identity} is ${state} and listed the wrong way`)

  const holdersOf = new Map<string, Found[]>()
  for (const { paymentId } of [...claimed, ...held]) if (paymentId !== undefined) holdersOf.set(paymentId, [])
  for (const record of records.values())
    if (record.payment_id !== undefined && !hasComeToNothing(record.state))
      holdersOf.get(record.payment_id)?.push(record)
  for (const [id, holders] of holdersOf) {
    const holder = await look('of another payment', id)
    if (holders.length > 1) faults.push(`the id ${id} is held by ${holders.length} payments`)
    else if (holders[0] && holder?.identity !== holders[0].identity) faults.push(`the id ${id} is lost`)
    // It may be another's that nobody was told of.
    else if (holder && (holder.payment_id !== id || hasComeToNothing(holder.state)))
      faults.push(`the id ${id} was never given back`)
  }

  await log.prune({ before: new Date('9999-01-01'), max: Number.MAX_SAFE_INTEGER })
  for (const [identity, { state }] of records) {
    const isThere = (await look(identity)) !== undefined
    if (isThere === isFinal(state)) faults.push(`${identity} is ${state} and ${isThere ? 'not ' : ''}removed as ended`)
  }
  return faults
}

interface Claims {
  records: ReadonlyMap<string, Found>
  claimed: readonly Of<'claimed'>[]
  held: readonly Of<'held'>[]
}

function judgeClaims({ records, claimed, held }: Claims): string[] {
  const faults: string[] = []
  const given = new Set<string>()
  for (const { identity, digest } of claimed) {
    if (given.has(identity)) faults.push(`${identity} was given twice`)
    given.add(identity)
    if (records.get(identity)?.digest !== digest) faults.push(`${identity} has another's answer`)
  }
  for (const { identity, paymentId, holder } of held) {
    const isById = paymentId !== undefined && records.get(holder)?.payment_id === paymentId
    if (holder !== identity && !isById) faults.push(`${identity} was refused for ${holder}, which has nothing of it`)
  }
  return faults
}

interface Steps {
  records: ReadonlyMap<string, Found>
  advanced: readonly Of<'advanced'>[]
}

function judgeSteps({ records, advanced }: Steps): string[] {
  const faults: string[] = []
  const steps = new Set<string>()
  for (const { identity, state, attempt, payment_response } of advanced) {
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
  return faults
}
