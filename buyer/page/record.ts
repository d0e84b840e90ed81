/** One company as a person reads it, and what can be done with its record. */
import { addressOf } from '../candidate-row.ts'
import { filingStatus } from '../../agent/operation/filing-status.ts'
import type { SearchResponse } from '../../agent/operation/search.ts'
import { DAY_MS, toDay } from '../../base/day.ts'
import { isDissolved, type Company } from '../../store/dataset/company.ts'
import { dateOfSource } from '../../store/dataset/source.ts'
import { allowLater, button, copyButton, create, details, facts, link, paragraph, save } from './elements.ts'
import { account, baseUrl, mode, urlOf } from './question.ts'
import { watchCommand } from './watch-command.ts'
import { plural, showDay } from './words.ts'

/** The parts of an answer that name its file of the register. */
export type Provenance = Pick<SearchResponse, 'source' | 'snapshot_id'>

/** The status as a word with a colour and a sign. One that is not known to be harmless is marked as a doubt. */
export function statusOf(company: Company): HTMLElement {
  const { status } = company
  const [kind, sign] = isDissolved(company)
    ? ['ended', '✕']
    : /^normal$/i.test(status ?? '')
      ? ['normal', '✓']
      : ['doubt', '!']
  return create('span', { class: `status ${kind}` }, `${sign}\u00A0${status ?? 'no status'}`)
}

const YEAR_DAYS = 365.2425
/** `today`, `tomorrow`, `in 12 days`, `3 days ago` */
const DAYS = new Intl.RelativeTimeFormat('en-IE', { numeric: 'auto' })

/** `12 May 1998, 28 years` */
function since(date: string | null, today: string): string {
  const years = Math.floor((Date.parse(today) - Date.parse(date ?? today)) / DAY_MS / YEAR_DAYS)
  return years > 0 ? `${showDay(date)}, ${plural(years, 'year')}` : showDay(date)
}

function nextReturn(company: Company, today: string): string {
  const filing = filingStatus(company, today)
  if (filing.kind !== 'dated') return ''
  return `${showDay(filing.annual_return_date)}, ${DAYS.format(filing.days, 'day')}`
}

/** @param today the day to which ages and the next annual return are counted */
export function showRecord(company: Company, provenance: Provenance, today = toDay(new Date())): HTMLElement {
  const { company_number: number, legal_name: name, registered_date: registered } = company
  return create('article', {}, [
    create('h1', {}, name),
    paragraph([statusOf(company), ' ', company.company_type ?? '']),
    facts({
      Number: number,
      Address: addressOf(company),
      Registered: since(registered, today),
      Dissolved: since(company.dissolved_date, today),
      'Next annual return': nextReturn(company, today),
      'Last annual return': showDay(company.last_annual_return_date),
      'Last accounts': showDay(company.last_accounts_date),
      'Status since': company.status_date === company.dissolved_date ? '' : showDay(company.status_date),
      'Name since': company.name_effective_date === registered ? '' : showDay(company.name_effective_date),
      'Activity (NACE)': company.nace_v2_code ?? '',
    }),
    create('nav', { class: 'actions', 'aria-label': 'This company' }, [
      link(urlOf('history', { company_number: number }), 'History'),
      link(urlOf('as_of', { company_number: number, date: dateOfSource(provenance.source) }), 'On a day'),
      link(urlOf('changes', { company_numbers: number, since: toDay(Date.now() - 365 * DAY_MS) }), 'Changes'),
      link(urlOf('resolve', { name, company_number: number }), 'Check with evidence'),
    ]),
    showTools(company, provenance),
  ])
}

export function showSource({ source, snapshot_id }: Provenance): HTMLElement {
  const { publisher, dataset, license, synthetic } = source
  const text = `${publisher}, ${dataset}, file of ${showDay(dateOfSource(source))}. ${license}.`
  const mark = create('code', { title: snapshot_id }, snapshot_id.slice(7, 15))
  return paragraph([`${text}${synthetic ? ' Made-up data.' : ''} Snapshot `, mark, '.'], 'quiet')
}

function showTools(company: Company, { source, snapshot_id }: Provenance): HTMLElement {
  const { company_number: number, legal_name: name, status } = company
  const code = (text: string) => [create('pre', { tabindex: '0' }, text), copyButton(text)]
  const command = watchCommand({ number, baseUrl, mode, account })
  return create('div', { class: 'tools' }, [
    create('p', { class: 'actions' }, [
      copyButton([`${name} (${number})`, status, addressOf(company)].join('\n')),
      button('Print', () => print()),
      'Download ',
      ['xlsx', 'csv', 'json'].map((end) =>
        button(`.${end}`, () => void download(company, { source, snapshot_id }, end)),
      ),
    ]),
    details('Watch by command', code(command)),
    details('JSON', code(JSON.stringify({ company, source, snapshot_id }, null, 2))),
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
