/** One company as a person reads it, and what can be done with its record. */
import { filingStatus } from '../agent/operation/filing-status.ts'
import { DAY_MS, toDay } from '../store/base/day.ts'
import type { Company } from '../store/dataset/company.ts'
import { dateOfSource, type Source } from '../store/dataset/source.ts'
import { button, copyButton, create, facts, find, link, paragraph, plural, save, showDay } from './elements.ts'
import { urlOf } from './question.ts'

/** The parts of an answer that name its file of the register. */
export interface Provenance {
  source: Source
  snapshot_id: string
}

export const addressOf = ({ registered_address: { lines, eircode } }: Company): string =>
  [...lines, eircode].filter(Boolean).join(', ')

/** The status as a word with a colour and a sign. One that is not known to be harmless is marked as a doubt. */
export function statusOf({ status, dissolved_date }: Company): HTMLElement {
  const isEnded = dissolved_date !== null || /^(?:dissolved|ceased|deleted)/i.test(status ?? '')
  const [kind, sign] = isEnded ? ['ended', '✕'] : /^normal$/i.test(status ?? '') ? ['normal', '✓'] : ['doubt', '!']
  return create(
    'span',
    { class: `status ${kind}` },
    create('b', { 'aria-hidden': 'true' }, sign),
    ` ${status ?? 'no status'}`,
  )
}

const YEAR_DAYS = 365.2425

/** `12 May 1998, 28 years` */
function since(date: string | null, today: string): string | null {
  if (date === null) return null
  const years = Math.floor((Date.parse(today) - Date.parse(date)) / DAY_MS / YEAR_DAYS)
  return `${showDay(date)}${years > 0 ? `, ${plural(years, 'year')}` : ''}`
}

function nextReturn(company: Company, today: string): string | null {
  const filing = filingStatus(company, today)
  if (filing.kind !== 'dated') return null
  const { annual_return_date: date, days } = filing
  return `${showDay(date)}, ${days < 0 ? `${plural(-days, 'day')} ago` : days === 0 ? 'today' : `in ${plural(days, 'day')}`}`
}

const dayOrNull = (date: string | null) => (date === null ? null : showDay(date))

/** @param today the day to which ages and the next annual return are counted */
export function showRecord(company: Company, provenance: Provenance, today = toDay(new Date())): HTMLElement {
  const { company_number: number, legal_name: name } = company
  return create(
    'article',
    { class: 'record' },
    create('h1', {}, name),
    paragraph([statusOf(company), ' ', company.company_type ?? '']),
    facts({
      Number: number,
      Address: addressOf(company),
      Registered: since(company.registered_date, today),
      Dissolved: since(company.dissolved_date, today),
      'Next annual return': nextReturn(company, today),
      'Last annual return': dayOrNull(company.last_annual_return_date),
      'Last accounts': dayOrNull(company.last_accounts_date),
      'Status since': company.status_date === company.dissolved_date ? null : dayOrNull(company.status_date),
      'Name since':
        company.name_effective_date === company.registered_date ? null : dayOrNull(company.name_effective_date),
      'Activity (NACE)': company.nace_v2_code,
    }),
    showSource(provenance),
    create('nav', { class: 'actions', 'aria-label': 'This company' }, [
      link(urlOf('history', { company_number: number }), 'History'),
      link(urlOf('as_of', { company_number: number, date: dateOfSource(provenance.source) }), 'On a day'),
      link(urlOf('changes', { company_numbers: number, since: toDay(Date.now() - 365 * DAY_MS) }), 'Changes'),
      link(urlOf('resolve', { name, company_number: number }), 'Check with evidence'),
    ]),
    showTools(company, provenance),
  )
}

export function showSource({ source, snapshot_id }: Provenance): HTMLElement {
  const { publisher, dataset, license, synthetic } = source
  const text = `${publisher}, ${dataset}, file of ${showDay(dateOfSource(source))}. ${license}.`
  const mark = create('code', { title: snapshot_id }, snapshot_id.slice(7, 15))
  return paragraph([`${text}${synthetic ? ' Made-up data.' : ''} Snapshot `, mark, '.'], 'quiet')
}

function showTools(company: Company, provenance: Provenance): HTMLElement {
  const { company_number: number, legal_name: name, status } = company
  const text = [`${name} (${number})`, status, addressOf(company)].join('\n')
  const command = `printf 'Number\\n${number}\\n' > watch.csv
irish-company-agent client watch watch.csv --column Number --state watch.json`
  const watch = create('div', {}, create('pre', { tabindex: '0' }, command), copyButton(command))
  const json = JSON.stringify({ company, ...provenance }, null, 2)
  return create('div', { class: 'tools' }, [
    create('p', { class: 'actions' }, [
      copyButton(text, 'Copy'),
      button('Print', () => print()),
      'Download ',
      ['xlsx', 'csv', 'json'].map((format) => button(`.${format}`, () => void download(company, provenance, format))),
    ]),
    create('details', {}, create('summary', {}, 'Watch by command'), watch),
    create('details', {}, create('summary', {}, 'JSON'), create('pre', { tabindex: '0' }, json)),
  ])
}

/** The fields of the record as a table of one row. */
async function download(company: Company, { source, snapshot_id }: Provenance, format: string): Promise<void> {
  const { registered_address: _, ...fields } = company
  const row = { ...fields, registered_address: addressOf(company), source: source.dataset_url, snapshot_id }
  document.head.append((find('#later') as HTMLTemplateElement).content.cloneNode(true))
  const { encodeTable } = await import('../agent/command-line/table/write-table.ts')
  const name = `${company.company_number}.${format}`
  const csv = { kind: 'csv', separator: ',', lineEnd: '\r\n', hasByteOrderMark: true } as const
  const bytes = await encodeTable([Object.keys(row), Object.values(row)], { name, format: csv, addedFrom: 0 })
  save(name, 'application/octet-stream', bytes as BlobPart)
}
