/** What the record of a company says about its next annual return (Companies Act 2014, sections 343 to 345 and 347). */
import type { Company } from '../../store/dataset/company.ts'
import { DAY_MS, toDay } from '../../base/day.ts'

/** Section 343: the return is delivered within 56 days after the annual return date. */
const DAYS_TO_FILE = 56
/** Section 347: the accounts are made up to a date at most nine months before that of the return. */
const ACCOUNTS_MONTHS_MAX = 9
/** Section 343: the first annual return date is six months after the incorporation. It needs no accounts. */
const FIRST_RETURN_MONTHS = 6

export type FilingStatus =
  /** A dissolved company has no further return. */
  | { kind: 'dissolved' }
  | { kind: 'unknown' }
  | {
      kind: 'dated'
      annual_return_date: string
      /** Days until that date. Negative: days since it. */
      days: number
      /** The last day for the return, if the date on record is the annual return date. */
      file_by: string
      /**
       * Whether the newest accounts on record are recent enough for that return. `not_needed` for a first return,
       * `unknown` without accounts on record.
       */
      accounts: 'recent' | 'too_old' | 'not_needed' | 'unknown'
    }

/**
 * The next annual return of a company, from its record alone. No date is guessed that the record lacks. The dataset
 * cannot show whether its next date is the annual return date or the last day to file, whether that date was changed or
 * extended, whether a return was delivered that is not registered yet, and which companies need no accounts.
 * @param today `YYYY-MM-DD`
 * @example
 * const status = filingStatus(company, '2026-02-01')
 * if (status.kind === 'dated' && status.days <= 30) console.log(status.annual_return_date, status.accounts)
 */
export function filingStatus(company: Company, today: string): FilingStatus {
  const { next_annual_return_date: date, dissolved_date } = company
  if (dissolved_date !== null && dissolved_date <= today) return { kind: 'dissolved' }
  if (date === null) return { kind: 'unknown' }
  const days = (Date.parse(date) - Date.parse(today)) / DAY_MS
  const fileBy = toDay(Date.parse(date) + DAYS_TO_FILE * DAY_MS)
  return { kind: 'dated', annual_return_date: date, days, file_by: fileBy, accounts: accountsFor(date, company) }
}

function accountsFor(date: string, { registered_date, last_annual_return_date, last_accounts_date }: Company) {
  if (last_accounts_date !== null)
    return last_accounts_date >= addMonths(date, -ACCOUNTS_MONTHS_MAX) ? 'recent' : 'too_old'
  const isFirst = last_annual_return_date === null && registered_date !== null
  return isFirst && date === addMonths(registered_date, FIRST_RETURN_MONTHS) ? 'not_needed' : 'unknown'
}

/** The same day of another month, or the last day of a shorter one. */
function addMonths(date: string, months: number): string {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  const lastDay = new Date(Date.UTC(year, month + months, 0)).getUTCDate()
  return toDay(Date.UTC(year, month - 1 + months, Math.min(day, lastDay)))
}
