/**
 * The response log of the simulation: compare-and-set over memory that all servers share. A call takes effect
 * at one time and is acknowledged later. A crash may come before, between or after the two.
 */
import type { ResponseRecord } from '../../../store/log/record.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import { MemoryStore, openMemoryLog } from '../../support/memory-log.ts'
import { short } from './chain.ts'
import type { Owner, Simulator } from './simulator.ts'

/** A write that has not taken effect. */
interface Write {
  owner: Owner
  apply: () => void
}

export class SimulatedLog {
  /** What is on disk. */
  readonly store: MemoryStore
  /** Called for every record that is written. */
  onWrite: (record: ResponseRecord, before: ResponseRecord | undefined) => void = () => undefined
  readonly #sim: Simulator
  readonly #inProgress = new Set<Write>()

  constructor(sim: Simulator) {
    this.#sim = sim
    this.store = new MemoryStore(() => new Date(sim.now))
    this.store.onWrite = (record, before) => this.#noteWrite(record, before)
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

  unfinished(): readonly string[] {
    return this.store.list({ kind: 'open', max: Infinity }).identities
  }

  #noteWrite(record: ResponseRecord, before: ResponseRecord | undefined): void {
    const change = `${before?.state ?? 'none'} -> ${record.state}`
    this.#sim.count(`state ${change}`)
    this.#sim.trace('disk', () => `${short(record.identity)} ${change} #${record.attempt}`)
    this.onWrite(record, before)
  }

  /** The log of one server process. */
  open(owner: Owner): ResponseLog {
    return openMemoryLog(this.store, (kind, call) =>
      kind === 'read' ? this.#read(owner, call) : this.#write(owner, call),
    )
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
}

function attempt(work: () => void): void {
  try {
    work()
  } catch {
    // The process that would receive the error has crashed.
  }
}
