/**
 * The response log of the simulation: compare-and-set over memory that all servers share. A call takes effect
 * at one time and is acknowledged later. A crash may come before, between or after the two.
 */
import {
  applyChange,
  checkTransition,
  isFinal,
  isVersion,
  type Claim,
  type RecordChange,
  type RecordVersion,
  type ResponseRecord,
  type RecordState,
} from '../../../store/log/record.ts'
import { lateAfter, type ResponseLog } from '../../../store/log/responses.ts'
import { short } from './chain.ts'
import type { Owner, Simulator } from './simulator.ts'

/** A write that has not taken effect. */
interface Write {
  owner: Owner
  apply: () => void
}

export class SimulatedLog {
  /** The records on disk. */
  readonly records = new Map<string, ResponseRecord>()
  readonly notes = new Map<string, string>()
  /** Called for every record that is written. */
  onWrite: (record: ResponseRecord, before: ResponseRecord | undefined) => void = () => undefined
  readonly #sim: Simulator
  readonly #inProgress = new Set<Write>()
  readonly #unfinished = new Set<string>()

  constructor(sim: Simulator) {
    this.#sim = sim
  }

  /** Each write in progress of the crashed process takes effect or is lost. */
  crash(owner: Owner): void {
    for (const write of this.#inProgress) {
      if (write.owner !== owner) continue
      this.#inProgress.delete(write)
      if (!this.#sim.chance(0.5)) continue
      this.#sim.count('fault crash: a write in flight survives')
      attempt(write.apply)
    }
  }

  unfinished(): string[] {
    return [...this.#unfinished]
  }

  /** Those that are due before `before` or after `late`, earliest first. */
  due(before: string, late: string): string[] {
    const timeOf = (identity: string) => {
      const record = this.records.get(identity)
      return record?.due_at ?? record?.prepared_at ?? before
    }
    const due = this.unfinished().filter((identity) => timeOf(identity) < before || timeOf(identity) > late)
    return due.toSorted((one, other) => (timeOf(one) < timeOf(other) ? -1 : 1))
  }

  countUnknown(prefix: string): number {
    const ofPayer = this.unfinished().filter((identity) => identity.startsWith(prefix))
    return ofPayer.filter((identity) => this.records.get(identity)?.state === 'unknown').length
  }

  #put(record: ResponseRecord): ResponseRecord {
    const before = this.records.get(record.identity)
    this.#sim.count(`state ${before?.state ?? 'none'} -> ${record.state}`)
    this.#sim.trace(
      'disk',
      () => `${short(record.identity)} ${before?.state ?? 'none'} -> ${record.state} #${record.attempt}`,
    )
    this.records.set(record.identity, record)
    if (!isFinal(record.state)) this.#unfinished.add(record.identity)
    else this.#unfinished.delete(record.identity)
    this.onWrite(record, before)
    return record
  }

  /** The log of one server process. */
  open(owner: Owner): ResponseLog {
    return {
      read: (identity) => this.#read(owner, () => this.records.get(identity)),
      claim: (record) => this.#write(owner, () => this.#claim(record)),
      advance: (from, change) => this.#write(owner, () => this.#advance(from, change)),
      countUnknown: async (prefix) => this.countUnknown(prefix),
      unfinished: () => this.#read(owner, () => this.unfinished()),
      due: ({ before, max }) => {
        const [time, late] = [before, lateAfter(before)].map((each) => each.toISOString()) as [string, string]
        return this.#read(owner, () => this.due(time, late).slice(0, max))
      },
      countUnfinished: async () => new Map(),
      noteUnrecorded: async () => true,
      unrecorded: async () => [],
      prune: async () => 0,
      checkWritable: () => this.#write(owner, () => undefined),
      owner: async () => undefined,
      setOwner: async (next) => next,
      announceKey: async () => undefined,
      publicKeys: async () => [],
      notes: (prefix) => this.#read(owner, () => new Map([...this.notes].filter(([key]) => key.startsWith(prefix)))),
      setNote: (key, value) =>
        this.#write(owner, () => void (value === undefined ? this.notes.delete(key) : this.notes.set(key, value))),
      newestRecords: async () => [],
      close: () => Promise.resolve(),
    }
  }

  #read<T>(owner: Owner, read: () => T): Promise<T> {
    const sim = this.#sim
    return new Promise((resolve, reject) => {
      const isFailed = sim.fault('store: a read fails', 0.01)
      // The record can change before the caller has it.
      const found = read()
      if (!sim.injectsFaults) resolve(found)
      else sim.after(sim.between(0, 4), () => (isFailed ? reject(new Error('EIO')) : resolve(found)), owner)
    })
  }

  #write<T>(owner: Owner, write: () => T): Promise<T> {
    const sim = this.#sim
    return new Promise((resolve, reject) => {
      const tell = (work: () => void) => void sim.after(sim.between(0, 20), work, owner)
      if (sim.fault('store: the disk is full', 0.015)) return tell(() => reject(new Error('ENOSPC')))
      const isUnacknowledged = sim.fault('store: an error after the write', 0.01)
      const apply = () => {
        const written = write()
        tell(() => (isUnacknowledged ? reject(new Error('EIO')) : resolve(written)))
      }
      const pending = { owner, apply }
      this.#inProgress.add(pending)
      const delay = sim.fault('store: a slow disk', 0.02) ? sim.between(1_000, 20_000) : sim.between(0, 20)
      sim.afterNoFlush(
        delay,
        () => {
          this.#inProgress.delete(pending)
          try {
            apply()
          } catch (cause) {
            tell(() => reject(cause))
          }
        },
        owner,
      )
    })
  }

  #claim(record: ResponseRecord): Claim {
    const holder = this.records.get(record.identity)
    if (holder) return { kind: 'taken', record: holder }
    this.#put(record)
    return { kind: 'claimed', record }
  }

  #advance(from: RecordVersion, change: RecordChange & { state: RecordState }): ResponseRecord | undefined {
    checkTransition(from, change)
    const found = this.records.get(from.identity)
    return found && isVersion(found, from) ? this.#put(applyChange(found, change)) : undefined
  }
}

function attempt(work: () => void): void {
  try {
    work()
  } catch {
    // The process that would receive the error has crashed.
  }
}
