/** A table that cannot be read. The message is one line. */
export class TableError extends Error {
  /** `encoding`: the bytes can be read, but probably not as they were meant. Name the encoding. */
  readonly doubt: 'encoding' | undefined

  constructor(message: string, { doubt, ...options }: ErrorOptions & { doubt?: 'encoding' } = {}) {
    super(message, options)
    this.doubt = doubt
  }
}
