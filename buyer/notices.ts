/** What a reader of a record should notice first. Runs in browsers too. */
import { counted } from '../base/grammar.ts'
import { filingStatus } from '../agent/operation/filing-status.ts'
import { DAY_MS } from '../base/day.ts'
import { isDissolved, type Company } from '../store/dataset/company.ts'

export interface Notice {
  /** `ended`: the company does not exist any more, or is being wound up. */
  kind: 'ended' | 'doubt'
  /** A few words, for a table. */
  short: string
  /** A sentence without its full stop. Days are `YYYY-MM-DD`. */
  text: string
}

/** A company that files in time has accounts of at most 21 months and 56 days. */
const ACCOUNTS_DAYS_OLD = 2 * 365

/**
 * The notices of a record, the gravest first. Without one, the record gives no cause for a question.
 * @param day of the file of the register, to which is counted
 */
export function noticesOf(company: Company, day: string): Notice[] {
  const state = stateNotice(company)
  if (state?.kind === 'ended') return [state]
  return [state, overdueNotice(company, day), accountsNotice(company, day)].filter((each) => each !== undefined)
}

const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / DAY_MS

function stateNotice(company: Company): Notice | undefined {
  const { status, status_date, dissolved_date } = company
  const since = (date: string | null) => (date === null ? '' : ` since ${date}`)
  if (isDissolved(company)) {
    const short = status === null || /^normal$/i.test(status) ? 'Dissolved' : status
    return { kind: 'ended', short, text: `${short}${since(dissolved_date ?? status_date)}` }
  }
  if (status === null) return { kind: 'doubt', short: 'no status', text: 'The register has no status of this company' }
  if (/^normal$/i.test(status)) return undefined
  if (/^liquidation$/i.test(status))
    return { kind: 'ended', short: status, text: `In liquidation${since(status_date)}` }
  if (/^strike.?off listed$/i.test(status))
    return { kind: 'doubt', short: status, text: `Listed for strike-off${since(status_date)}` }
  return { kind: 'doubt', short: status, text: `Status ${status}${since(status_date)}` }
}

function overdueNotice(company: Company, day: string): Notice | undefined {
  const filing = filingStatus(company, day)
  if (filing.kind !== 'dated' || filing.file_by >= day) return undefined
  const days = daysBetween(filing.file_by, day)
  const text = `Annual return overdue: it was due by ${filing.file_by}, ${counted(days, 'day')} before this file`
  return { kind: 'doubt', short: 'annual return overdue', text }
}

function accountsNotice({ last_accounts_date: date }: Company, day: string): Notice | undefined {
  if (date === null || daysBetween(date, day) < ACCOUNTS_DAYS_OLD) return undefined
  const years = Math.floor(daysBetween(date, day) / 365.2425)
  return {
    kind: 'doubt',
    short: 'old accounts',
    text: `Old accounts: the newest are of ${date}, ${Math.max(years, 2)} years before this file`,
  }
}
