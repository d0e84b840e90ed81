/** Why an import was given up. Whatever the reason, the last good snapshot stays. */

export type ImportFault =
  | 'source_unreadable'
  | 'archive_too_large'
  | 'archive_members'
  | 'archive_damaged'
  | 'csv_too_large'
  | 'csv_malformed'
  | 'wrong_header'
  | 'no_companies'
  | 'too_many_rejected'
  | 'stopped'

export class ImportError extends Error {
  override name = 'ImportError'
  readonly fault: ImportFault

  /** `rule` is one line of ours for the operator; nothing of the file's content is in it. */
  constructor(fault: ImportFault, rule: string, cause?: unknown) {
    super(rule, { cause })
    this.fault = fault
  }
}
