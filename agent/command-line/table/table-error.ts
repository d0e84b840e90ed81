/** A table that cannot be read. The message is one line. */
export class TableError extends Error {
  /** What the user can name otherwise: a column that is missing, or the encoding, if the bytes leave it in doubt. */
  readonly argument: 'column' | 'encoding' | undefined

  constructor(message: string, { argument, ...options }: ErrorOptions & Partial<Pick<TableError, 'argument'>> = {}) {
    super(message, options)
    this.argument = argument
  }
}
