/** The error of a failed import. The current snapshot stays in service. docs/data.md lists the codes. */

type ImportErrorCode =
  | 'source_unreadable'
  | 'source_refused'
  | 'source_unreachable'
  | 'source_timeout'
  | 'source_status'
  | 'source_answer'
  | 'source_cut'
  | 'source_is_page'
  | 'source_wrong_type'
  | 'archive_too_large'
  | 'archive_members'
  | 'archive_damaged'
  | 'archive_compression'
  | 'csv_too_large'
  | 'csv_malformed'
  | 'wrong_header'
  | 'no_companies'
  | 'too_many_rejected'
  | 'too_few_companies'
  | 'changes_refused'
  | 'source_older'
  | 'build_crashed'
  | 'import_timeout'
  | 'stopped'

export class ImportError extends Error {
  override name = 'ImportError'
  readonly code: ImportErrorCode

  /** `message` is one line for the operator and contains nothing from the file. */
  constructor(code: ImportErrorCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** Throws if the import is to stop. */
export function throwIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ImportError('stopped', 'the import was stopped')
}
