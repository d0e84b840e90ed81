/** What a person is told after a refusal of the service, and where the page leads on. */
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { link } from './elements.ts'
import { askedByUrl, urlOf } from './question.ts'
import { showDay } from './words.ts'

interface Told {
  /** In place of the message of the code. */
  text?: string
  next: Node[]
}

/** @param body of the answer, for the days that are covered */
export function tellRefusal(code: RefusalCode | undefined, body = ''): Told {
  const input: Record<string, unknown> = askedByUrl()?.input ?? {}
  const number = typeof input['company_number'] === 'string' ? input['company_number'] : ''
  const toSearch = link(urlOf('search', {}), 'Search by name')
  const toHistory = number === '' ? [] : [link(urlOf('history', { company_number: number }), 'History of this number')]
  if (code === 'company_not_found') return { next: [toSearch, ...toHistory] }
  if (code === 'date_not_covered') {
    const [from, until] = body.match(/\b[0-9]{4}-[01][0-9]-[0-3][0-9]\b/g) ?? []
    const days = from === until ? from && showDay(from) : from && until && `${showDay(from)} to ${showDay(until)}`
    const covered = days ? ` Covered: ${days}.` : ''
    return { text: `There is no file recorded for this day.${covered}`, next: toHistory }
  }
  if (code === 'source_data_conflict') {
    const text = `The register's file has several different records with the number ${number}, so none is shown. Look at its history, or search by name.`
    return { text, next: [toSearch, ...toHistory] }
  }
  return { next: [] }
}
