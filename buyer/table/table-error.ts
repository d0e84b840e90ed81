/** A table that cannot be read. The message is one line. */
export class TableError extends Error {
  /** The argument to correct: a column or sheet that is not found or not unique, or an encoding in doubt. */
  readonly argument: 'column' | 'encoding' | 'sheet' | undefined

  constructor(message: string, { argument, ...options }: ErrorOptions & Partial<Pick<TableError, 'argument'>> = {}) {
    super(message, options)
    this.argument = argument
  }
}
