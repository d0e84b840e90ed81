/** Shows the answer of each operation as a person reads it. */
import { changeCells, CHANGE_HEADS } from '../agent/command-line/readable-answer.ts'
import type { ChangesResponse } from '../agent/operation/changes.ts'
import type { HistoryResponse } from '../agent/operation/history.ts'
import type { Operation } from '../agent/operation/operation.ts'
import type { ResolveResponse } from '../agent/operation/resolve.ts'
import { SCORE_MAX, type Candidate } from '../agent/operation/result.ts'
import type { SearchResponse } from '../agent/operation/search.ts'
import type { Company } from '../store/dataset/company.ts'
import { create, facts, link, paragraph, plural, shortDay, showDay, table, type Content } from './elements.ts'
import { urlOf } from './question.ts'
import { addressOf, showRecord, showSource, statusOf, type Provenance } from './record.ts'

/**
 * The library of the buyer has checked that the answer has the form of the operation.
 * @param number of the candidate whose record is shown instead of all
 */
export function showAnswer(operation: Operation, body: object, number: string): Content {
  const answer = body as Provenance & { candidates?: Candidate[] }
  const chosen = answer.candidates?.find(({ company }) => company.company_number === number)
  if (!chosen) return SHOWN[operation.definition.name]?.(answer as never, operation)
  return [paragraph(link('#', '← All results'), 'quiet'), showRecord(chosen.company, answer)]
}

type Answered<Answer> = Answer & Provenance

const SHOWN: Record<string, (answer: never, operation: Operation) => Content> = {
  lookup: (answer: Answered<{ company: Company }>) => showRecord(answer.company, answer),
  as_of: (answer: Answered<{ company: Company }>, { input }) => [
    paragraph(`As the last file of ${showDay(String(input['date']))} or before had it.`, 'quiet'),
    showRecord(answer.company, answer, String(input['date'])),
  ],
  search: (answer: SearchResponse) => [
    create('h1', {}, `${plural(answer.candidates.length, 'company').replace('ys', 'ies')} for “${answer.query.q}”`),
    answer.candidates.length === 0
      ? paragraph('No company has a similar name. Try fewer words, or another spelling.')
      : [
          candidateTable(answer.candidates),
          paragraph(link(urlOf('resolve', { name: answer.query.q }), 'Decide with an Eircode or an address')),
        ],
    showSource(answer),
  ],
  resolve: (answer: ResolveResponse) => {
    const { status, match, candidates } = answer
    const others = candidates.filter(({ company }) => company.company_number !== match?.company.company_number)
    return [
      match ? paragraph('✓ This is the company.', 'done') : create('h1', {}, VERDICTS[status] ?? status),
      match ? showRecord(match.company, answer) : [],
      others.length === 0 ? [] : [match ? create('h2', {}, 'Others') : [], candidateTable(others)],
      match ? [] : showSource(answer),
    ]
  },
  history: (answer: HistoryResponse) => [
    create('h1', {}, answer.versions.at(-1)?.company?.legal_name ?? `Company ${answer.company_number}`),
    paragraph([
      `Recorded since ${showDay(answer.complete_since)}.`,
      answer.gaps.length === 0 ? '' : ` ${plural(answer.gaps.length, 'day')} without a file.`,
    ]),
    create('ol', { class: 'timeline' }, answer.versions.map(showVersion).toReversed()),
    answer.next_before === null
      ? []
      : link(urlOf('history', { company_number: answer.company_number, before: answer.next_before }), 'Earlier'),
    showSource(answer),
  ],
  changes: (answer: ChangesResponse, { input }) => [
    create('h1', {}, answer.changes.length === 0 ? 'No company has changed' : 'What has changed'),
    answer.changes.length === 0 ? [] : table(CHANGE_HEADS.map(capital), answer.changes.map(showChange)),
    answer.next_cursor === null
      ? []
      : paragraph(link(urlOf('changes', { ...input, cursor: answer.next_cursor }), 'More changes')),
    showSource(answer),
  ],
}

const VERDICTS: Record<string, string> = {
  ambiguous: 'More than one company fits. Choose one, or add an Eircode or an address',
  conflicting: 'The details contradict the best candidate',
  no_match: 'No company of the register has this name',
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** Best first. Each name leads to the record, which the answer has. */
function candidateTable(candidates: readonly Candidate[]): HTMLElement {
  const rows = candidates.map(({ company, score }) => {
    const { company_number: number, registered_date: registered } = company
    const bar = create('meter', { max: String(SCORE_MAX), value: String(score), 'aria-label': 'Score' })
    return [
      number,
      link(`#${number}`, company.legal_name),
      statusOf(company),
      addressOf(company),
      registered === null ? '' : shortDay(registered),
      [bar, `\u00A0${score}`],
    ]
  })
  return table(['Number', 'Name', 'Status', 'Address', 'Registered', 'Score'], rows)
}

function showChange(change: ChangesResponse['changes'][number]): Content[] {
  const [date = '', number = '', ...others] = changeCells(change).map((cell) => cell.replaceAll('_', ' '))
  return [shortDay(date), link(urlOf('lookup', { company_number: number }), number), ...others]
}

type Version = HistoryResponse['versions'][number]

const ABSENT: Record<string, string> = {
  absent: 'Not in the file',
  quarantined: 'Several different records with this number',
  erased: 'Erased',
}

function showVersion({ state, first_seen, last_seen, company, changed }: Version, at: number, all: Version[]) {
  const before = all[at - 1]?.company
  const show = (of: Company | null | undefined, field: keyof Company) => {
    const value = of?.[field]
    return typeof value === 'object' && value !== null && of ? addressOf(of) : ((value as string | null) ?? 'nothing')
  }
  const changes = changed.map((field) => [
    capital(field.replaceAll('_', ' ')),
    before ? `${show(before, field)} → ${show(company, field)}` : show(company, field),
  ])
  const last = last_seen === null ? 'today' : showDay(last_seen.date)
  return create(
    'li',
    {},
    create('p', {}, create('strong', {}, `${showDay(first_seen.date)} to ${last}`)),
    paragraph(company ? [company.legal_name, ' ', statusOf(company)] : (ABSENT[state] ?? state)),
    facts(Object.fromEntries(changes) as Record<string, string>),
  )
}
