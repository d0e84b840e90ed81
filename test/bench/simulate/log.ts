/**
 * The response log of the simulation: the port's own compare-and-set over memory that two servers share. A call is carried
 * out at one moment and acknowledged at a later one; a crash between them, or before, is the seed's to decide.
 */
import { isFinal, TRANSITIONS, type Place, type ResponseRecord, type State } from '../../../store/record.ts'
import type { ResponseLog } from '../../../store/responses.ts'
import { short } from './chain.ts'
import type { Owner, World } from './world.ts'

interface Write {
  owner: Owner
  carryOut: () => void
}

export class SimulatedLog {
  /** What is on disk. */
  readonly records = new Map<string, ResponseRecord>()
  /** Told of every record that is written. */
  onWrite: (record: ResponseRecord, before: ResponseRecord | undefined) => void = () => undefined
  /** Told of every record that is removed. */
  onPrune: (record: ResponseRecord) => void = () => undefined
  readonly #world: World
  readonly #ids = new Map<string, string>()
  readonly #unfinished = new Set<string>()
  readonly #underWay = new Set<Write>()

  constructor(world: World) {
    this.#world = world
  }

  /** The writes of a process that has died are on disk or not. */
  crash(owner: Owner): void {
    for (const write of this.#underWay) {
      if (write.owner !== owner) continue
      this.#underWay.delete(write)
      if (!this.#world.chance(0.5)) continue
      this.#world.count('fault crash: a write in flight survives')
      attempt(write.carryOut)
    }
  }

  isWriting(owner: Owner): boolean {
    return [...this.#underWay].some((write) => write.owner === owner)
  }

  unfinished(): string[] {
    return [...this.#unfinished]
  }

  /** The door of one server. */
  door(owner: Owner): ResponseLog {
    return {
      read: (identity, paymentId) => this.#read(owner, () => this.#find(identity, paymentId)),
      claim: (record) => this.#write(owner, () => this.#claim(record)),
      advance: (from, change) => this.#write(owner, () => this.#advance(from, change)),
      hasPaid: (payerKey) => this.#read(owner, () => this.#hasPaid(payerKey)),
      unfinished: () => this.#read(owner, () => this.unfinished()),
      prune: ({ before, max }) => this.#write(owner, () => this.#prune(before.toISOString(), max)),
      close: () => Promise.resolve(),
    }
  }

  #read<T>(owner: Owner, read: () => T): Promise<T> {
    const world = this.#world
    return new Promise((resolve, reject) => {
      const isFailed = world.fault('store: a read fails', 0.01)
      world.quietlyAfter(
        world.between(0, 2),
        () => {
          const found = read()
          world.after(world.between(0, 2), () => (isFailed ? reject(new Error('EIO')) : resolve(found)), owner)
        },
        owner,
      )
    })
  }

  #write<T>(owner: Owner, write: () => T): Promise<T> {
    const world = this.#world
    return new Promise((resolve, reject) => {
      const tell = (work: () => void) => void world.after(world.between(0, 20), work, owner)
      if (world.fault('store: the disk is full', 0.015)) return tell(() => reject(new Error('ENOSPC')))
      const isUnacknowledged = world.fault('store: an error after the write', 0.01)
      const carryOut = () => {
        const written = write()
        tell(() => (isUnacknowledged ? reject(new Error('EIO')) : resolve(written)))
      }
      const pending = { owner, carryOut }
      this.#underWay.add(pending)
      const delay = world.fault('store: a slow disk', 0.02) ? world.between(1_000, 20_000) : world.between(0, 20)
      world.quietlyAfter(
        delay,
        () => {
          this.#underWay.delete(pending)
          try {
            carryOut()
          } catch (cause) {
            tell(() => reject(cause))
          }
        },
        owner,
      )
    })
  }

  #find(identity: string, paymentId?: string): ResponseRecord | undefined {
    const found = this.records.get(identity)
    if (found || paymentId === undefined) return found
    const holder = this.records.get(this.#ids.get(paymentId) ?? '')
    return holder?.state === 'rejected' || holder?.state === 'expired' ? undefined : holder
  }

  #hasPaid(payerKey: string): boolean {
    return [...this.records.values()].some(
      ({ identity, state }) => identity.startsWith(`${payerKey}/`) && (state === 'settled' || state === 'confirmed'),
    )
  }

  #claim(record: ResponseRecord): { claimed: boolean; record: ResponseRecord } {
    const holder = this.#find(record.identity, record.payment_id)
    if (holder) return { claimed: false, record: holder }
    if (record.payment_id !== undefined) this.#ids.set(record.payment_id, record.identity)
    this.#put(record)
    return { claimed: true, record }
  }

  #advance(from: Place, change: Partial<ResponseRecord> & { state: State }): ResponseRecord | undefined {
    const found = this.records.get(from.identity)
    if (found?.state !== from.state || found.attempt !== from.attempt) return undefined
    if (!(TRANSITIONS[found.state] as readonly State[]).includes(change.state)) {
      throw new Error(`A ${found.state} record cannot become ${change.state}`)
    }
    return this.#put({ ...found, ...change })
  }

  #prune(before: string, max: number): number {
    const isOver = ({ state, updated_at }: ResponseRecord) => isFinal(state) && updated_at < before
    const ended = [...this.records.values()].filter(isOver).slice(0, max)
    for (const record of ended) {
      this.#world.count(`state ${record.state} -> removed`)
      this.#world.trace('disk', () => `${short(record.identity)} is removed`)
      this.records.delete(record.identity)
      if (this.#ids.get(record.payment_id ?? '') === record.identity) this.#ids.delete(record.payment_id ?? '')
      this.onPrune(record)
    }
    return ended.length
  }

  #put(record: ResponseRecord): ResponseRecord {
    const before = this.records.get(record.identity)
    this.#world.count(`state ${before?.state ?? 'none'} -> ${record.state}`)
    this.#world.trace(
      'disk',
      () => `${short(record.identity)} ${before?.state ?? 'none'} -> ${record.state} #${record.attempt}`,
    )
    this.records.set(record.identity, record)
    if (!isFinal(record.state)) this.#unfinished.add(record.identity)
    else this.#unfinished.delete(record.identity)
    this.onWrite(record, before)
    return record
  }
}

function attempt(work: () => void): void {
  try {
    work()
  } catch {
    // Nobody is left to be told.
  }
}
