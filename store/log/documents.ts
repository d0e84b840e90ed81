/** Documents of the response log: small values that all processes share, such as its owner and the public keys. */

export interface StoredDocument<Value> {
  readonly value: Value
  /** Another one after each write. */
  readonly revision: string
  /** The time of the write by the clock of the log. ISO 8601, in UTC. */
  readonly written_at: string
}

export interface LogDocument<Value> {
  /** Undefined before the first write. */
  read(): Promise<StoredDocument<Value> | undefined>
  /**
   * Writes the value if the document still has this revision (before the first write: undefined). Returns the stored
   * document, or undefined if another process wrote first.
   */
  compareAndSet(value: Value, revision: string | undefined): Promise<StoredDocument<Value> | undefined>
}

/** Writes what `change` makes of the stored value. `change` is repeated if another write was first. */
export async function updateDocument<Value>(
  document: LogDocument<Value>,
  /** Returns undefined if nothing is to be written. */
  change: (stored: StoredDocument<Value> | undefined) => Value | undefined,
): Promise<void> {
  for (;;) {
    const stored = await document.read()
    const next = change(stored)
    if (next === undefined || (await document.compareAndSet(next, stored?.revision))) return
  }
}
