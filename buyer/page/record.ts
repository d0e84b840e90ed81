/** One company as a person reads it, and what can be done with its record. */
import { showAddress } from '../address.ts'
import { addressOf } from '../candidate-row.ts'
import { noticesOf, type Notice } from '../notices.ts'
import { filingStatus } from '../../agent/operation/filing-status.ts'
import type { SearchResponse } from '../../agent/operation/search.ts'
import { DAY_MS, toDay } from '../../base/day.ts'
import { isDissolved, type Company } from '../../store/dataset/company.ts'
import { dateOfSource } from '../../store/dataset/source.ts'
import { askForEvidence } from './evidence.ts'
import { allowLater, button, copyButton, create, details, facts, link, paragraph, save } from './elements.ts'
import { account, baseUrl, mode, urlOf } from './question.ts'
import { watchCommand } from './watch-command.ts'
import { plural, showDay, toWords } from './words.ts'

/** The parts of an answer that name its file of the register. */
export type Provenance = Pick<SearchResponse, 'source' | 'snapshot_id'>

const SIGNS = { ended: '✕', doubt: '!', normal: '✓' }

const marked = (kind: keyof typeof SIGNS, text: string): HTMLElement =>
  create('span', { class: `status ${kind}` }, `${SIGNS[kind]}\u00A0${text}`)

/** The status in a few words with a colour and a sign, which is green only if nothing else is to be noticed. */
export function statusOf(company: Company, { source }: Provenance): HTMLElement {
  const notices = noticesOf(company, dateOfSource(source))
  const [first] = notices
  if (!first) return marked('normal', company.status ?? '')
  return marked(first.kind, notices.map(({ short }) => short).join(', '))
}

/** The notices, each with its colour, or the status. */
function showNotices(company: Company, notices: readonly Notice[]): HTMLElement[] {
  if (notices.length === 0) return [paragraph(marked('normal', company.status ?? ''))]
  return notices.map(({ kind, text }) => paragraph(create('strong', {}, marked(kind, `${toWords(text)}.`))))
}

const YEAR_DAYS = 365.2425
/** `today`, `tomorrow`, `in 12 days`, `3 days ago` */
const DAYS = new Intl.RelativeTimeFormat('en-IE', { numeric: 'auto' })
const NOT_RECORDED = 'not recorded'

/** `12 May 1998, 28 years` */
function since(date: string | null, day: string): string {
  const years = Math.floor((Date.parse(day) - Date.parse(date ?? day)) / DAY_MS / YEAR_DAYS)
  return years > 0 ? `${showDay(date)}, ${plural(years, 'year')}` : showDay(date)
}

function nextReturn(company: Company, day: string): string {
  const filing = filingStatus(company, day)
  if (filing.kind === 'dissolved' || isDissolved(company)) return ''
  if (filing.kind === 'unknown') return NOT_RECORDED
  return `${showDay(filing.annual_return_date)}, ${DAYS.format(filing.days, 'day')}`
}

/**
 * Ages and the next annual return are counted to the day of the file.
 * @param isChecked whether the form of the page already asks for an Eircode or an address
 */
export function showRecord(company: Company, provenance: Provenance, { isChecked = false } = {}): HTMLElement {
  const { company_number: number, legal_name: name, registered_date: registered } = company
  const day = dateOfSource(provenance.source)
  return create('article', {}, [
    create('h1', {}, name),
    ...showNotices(company, noticesOf(company, day)),
    facts({
      Number: create('span', { class: 'figures' }, number),
      Type: company.company_type ?? NOT_RECORDED,
      Status: company.status ?? NOT_RECORDED,
      Address: showAddress(company) || NOT_RECORDED,
      Eircode: company.registered_address.eircode ?? NOT_RECORDED,
      Registered: since(registered, day) || NOT_RECORDED,
      Dissolved: since(company.dissolved_date, day),
      'Annual return date': nextReturn(company, day),
      'Last annual return': showDay(company.last_annual_return_date) || NOT_RECORDED,
      'Last accounts': showDay(company.last_accounts_date) || NOT_RECORDED,
      'Status since': company.status_date === company.dissolved_date ? '' : showDay(company.status_date),
      'Name since': company.name_effective_date === registered ? '' : showDay(company.name_effective_date),
      'Activity (NACE code)': company.nace_v2_code ?? NOT_RECORDED,
    }),
    isChecked ? [] : askForEvidence({ company_number: number }, 'Is this the right one? Check an Eircode or address'),
    create('nav', { class: 'actions', 'aria-label': 'This company' }, [
      link(urlOf('history', { company_number: number }), 'History'),
      link(urlOf('as_of', { company_number: number, date: day }), 'On an earlier day'),
      link(urlOf('changes', { company_numbers: number, since: toDay(Date.now() - 365 * DAY_MS) }), 'Changes'),
    ]),
    showTools(company, provenance),
  ])
}

/** The search of the register itself, which is free. */
const REGISTER_SEARCH = 'https://core.cro.ie'

export function showSource({ source, snapshot_id }: Provenance): HTMLElement[] {
  const { publisher, dataset, license, synthetic } = source
  const text = `${publisher}, ${dataset}, file of ${showDay(dateOfSource(source))}. ${license}.`
  const mark = create('code', { title: snapshot_id }, snapshot_id.slice(7, 15))
  const own = create('a', { href: REGISTER_SEARCH, rel: 'noreferrer' }, "the register's own search")
  return [
    synthetic
      ? paragraph('This company data is made up.', 'quiet')
      : paragraph(['This open file has no directors, filings or owners: see ', own, '.'], 'quiet'),
    paragraph([`${text} Version `, mark, '.'], 'quiet'),
  ]
}

function showTools(company: Company, { source, snapshot_id }: Provenance): HTMLElement {
  const { company_number: number, legal_name: name, status } = company
  const code = (text: string) => [create('pre', { tabindex: '0' }, text), copyButton(text)]
  const command = watchCommand({ number, baseUrl, mode, account })
  const { eircode } = company.registered_address
  const text = [`${name} (${number})`, status, [showAddress(company), eircode].filter(Boolean).join(', ')]
  return create('div', { class: 'tools' }, [
    create('p', { class: 'actions' }, [
      copyButton(text.join('\n')),
      button('Print', () => print()),
      'Download ',
      ['xlsx', 'csv', 'json'].map((end) =>
        button(`.${end}`, () => void download(company, { source, snapshot_id }, end)),
      ),
    ]),
    details('Watch this company by a command', code(command)),
    details('For developers: this record as JSON', code(JSON.stringify({ company, source, snapshot_id }, null, 2))),
  ])
}

/** The fields of the record as a table of one row. */
async function download(company: Company, { source, snapshot_id }: Provenance, end: string): Promise<void> {
  const { registered_address: _, ...fields } = company
  const row = { ...fields, registered_address: addressOf(company), source: source.dataset_url, snapshot_id }
  const name = `${company.company_number}.${end}`
  allowLater()
  const { encodeTable } = await import('../table/write-table.ts')
  save(name, await encodeTable([Object.keys(row), Object.values(row)], { name }))
}
