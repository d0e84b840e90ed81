/** Counts how the entries of a new snapshot differ from those of the previous one, for the log. */
import { openSnapshot, type Snapshot, type SnapshotChanges } from '../dataset/snapshot.ts'

type StoredEntry = { key: string; value: Buffer }

export class ChangeCounter implements AsyncDisposable {
  readonly #counts: SnapshotChanges = { added: 0, removed: 0, changed: 0 }
  #previous: Snapshot | undefined
  #entries: Iterator<StoredEntry, void> | undefined
  #next: StoredEntry | undefined
  #isUnreadable = false

  /** Without a previous snapshot every entry is added. */
  constructor(previousFolder: string | undefined) {
    if (previousFolder === undefined) return
    this.#try(() => {
      this.#previous = openSnapshot(previousFolder)
      this.#entries = this.#previous.storedEntries()[Symbol.iterator]()
      this.#advance()
    })
  }

  /** Takes the entries of the new snapshot in the order of their keys. */
  add(key: string, value: Buffer): void {
    this.#try(() => {
      this.#skipRemoved((previousKey) => previousKey < key)
      if (this.#next?.key !== key) {
        this.#counts.added += 1
        return
      }
      // Equal records have equal bytes, because one function encodes them.
      if (!this.#next.value.equals(value)) this.#counts.changed += 1
      this.#advance()
    })
  }

  /** Called after the last entry. Null if the previous snapshot cannot be read, which must not stop an import. */
  finish(): SnapshotChanges | null {
    this.#try(() => this.#skipRemoved(() => true))
    return this.#isUnreadable ? null : this.#counts
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#entries?.return?.()
    await this.#previous?.close()
  }

  #skipRemoved(isRemoved: (previousKey: string) => boolean): void {
    for (; this.#next && isRemoved(this.#next.key); this.#advance()) this.#counts.removed += 1
  }

  #advance(): void {
    const result = this.#entries?.next()
    this.#next = result && !result.done ? result.value : undefined
  }

  #try(read: () => void): void {
    if (this.#isUnreadable) return
    try {
      read()
    } catch {
      this.#isUnreadable = true
    }
  }
}
