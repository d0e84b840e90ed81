/** The next annual return of a company in words. Runs in browsers too. */
import { counted } from '../base/grammar.ts'
import type { FilingStatus } from '../agent/operation/filing-status.ts'

export function describeFiling(status: FilingStatus): string {
  if (status.kind !== 'dated') return status.kind === 'dissolved' ? status.kind : ''
  const { days, file_by: fileBy, accounts } = status
  const count = counted(Math.abs(days), 'day')
  const when = days < 0 ? `${count} ago` : `in ${count}`
  return `annual return ${when}, file by ${fileBy}; accounts on record: ${accounts.replace('_', ' ')}`
}
