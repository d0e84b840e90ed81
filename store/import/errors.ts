/** The error of a failed import. The current snapshot stays in service. docs/data.md lists the codes. */

export const IMPORT_ERROR_CODES = [
  'source_unreadable',
  'source_refused',
  'source_unreachable',
  'source_timeout',
  'source_status',
  'source_answer',
  'source_cut',
  'source_is_page',
  'source_wrong_type',
  'archive_too_large',
  'archive_members',
  'archive_damaged',
  'archive_compression',
  'csv_too_large',
  'csv_malformed',
  'wrong_header',
  'no_companies',
  'too_many_rejected',
  'too_few_companies',
  'changes_refused',
  'source_older',
  'history_not_recorded',
  'import_failed',
  'import_crashed',
  'import_timeout',
] as const

type ImportErrorCode = (typeof IMPORT_ERROR_CODES)[number]

export class ImportError extends Error {
  override name = 'ImportError'
  readonly code: ImportErrorCode

  /** `message` is one line for the operator and contains nothing from the file. */
  constructor(code: ImportErrorCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** The snapshot of an import is served, and its journal is not written. The next import records this snapshot too. */
export function notRecorded(cause: unknown): ImportError {
  const reason = cause instanceof Error ? cause.message : 'unknown'
  return new ImportError('history_not_recorded', `the snapshot is served; the journal is not written: ${reason}`, cause)
}
