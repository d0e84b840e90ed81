/** The next annual return of a company in words. Runs in browsers too. */
import type { FilingStatus } from '../agent/operation/filing-status.ts'

export function describeFiling(status: FilingStatus): string {
  if (status.kind !== 'dated') return status.kind === 'dissolved' ? status.kind : ''
  const { days, file_by: fileBy, accounts } = status
  const when = days < 0 ? `${-days} days ago` : `in ${days} days`
  return `${when}, at the latest ${fileBy}; accounts on record: ${accounts.replace('_', ' ')}`
}
