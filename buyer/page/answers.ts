/** Shows the answer of each operation as a person reads it. */
import { addressOf, candidateRows } from '../candidate-row.ts'
import { changeCells, CHANGE_HEADS, otherRows, versionCells, VERSION_HEADS } from '../readable-answer.ts'
import type { ChangesResponse } from '../../agent/operation/changes.ts'
import type { HistoryResponse } from '../../agent/operation/history.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import type { ResolveResponse } from '../../agent/operation/resolve.ts'
import { SCORE_MAX, type Candidate } from '../../agent/operation/result.ts'
import type { SearchResponse } from '../../agent/operation/search.ts'
import { DAY_MS } from '../../base/day.ts'
import type { Company } from '../../store/dataset/company.ts'
import { create, find, link, paragraph, table, type Content } from './elements.ts'
import { form, shownFields, urlOf } from './question.ts'
import { showRecord, showSource, statusOf, type Provenance } from './record.ts'
import { plural, showDay, toWords } from './words.ts'

const main = find('main')
const result = find('#result')
const place = find('#answer')

/** Shows only an answer and the form: the answer is below the box, or above the fields of an operation. */
export function present(...content: Node[]): void {
  document.body.classList.add('answered')
  replace(content, shownFields().name === 'box' ? form.nextElementSibling : form)
}

/** Shows the whole page, with other content in place of an answer. */
export function withdraw(...content: Node[]): void {
  document.body.classList.remove('answered')
  replace(content, form.nextElementSibling)
}

/** Keeps the focus: a choice in a list renders all its controls again. */
function replace(content: Node[], before: Node | null): void {
  const controls = () => [...place.querySelectorAll<HTMLElement>('select, a, button, summary')]
  const at = controls().findIndex((each) => each === document.activeElement)
  main.insertBefore(result, before)
  place.replaceChildren(...content)
  controls()[at]?.focus()
}

/**
 * The library of the buyer has checked that the answer has the form of the operation.
 * @param number of the candidate whose record is shown instead of all
 */
export function showAnswer(operation: Operation, body: object, number: string): Content {
  const answer = body as Provenance & { candidates?: Candidate[] }
  const chosen = answer.candidates?.find(({ company }) => company.company_number === number)
  const shown = chosen
    ? [paragraph(link('#', '← All results'), 'quiet'), showRecord(chosen.company, answer)]
    : SHOWN[operation.definition.name]?.(answer as never, operation)
  return [shown, showSource(answer)]
}

type CompanyAnswer = Provenance & { company: Company }

const SHOWN: Record<string, (answer: never, operation: Operation) => Content> = {
  lookup: (answer: CompanyAnswer) => showRecord(answer.company, answer),
  as_of: (answer: CompanyAnswer, { input }) => [
    paragraph(`As the last file of ${showDay(String(input['date']))} or before had it.`, 'quiet'),
    showRecord(answer.company, answer, String(input['date'])),
  ],
  search: (answer: SearchResponse) => [
    create('h1', {}, `${plural(answer.candidates.length, 'result')} for “${answer.query.q}”`),
    paragraph(toWords(answer.explanation), 'quiet'),
    showCandidates(answer),
    paragraph(link(urlOf('resolve', { name: answer.query.q }), 'Decide with an Eircode or an address')),
  ],
  resolve: (answer: ResolveResponse) => {
    const { status, match, candidates } = answer
    if (!match)
      return [
        create('h1', {}, VERDICTS[status] ?? status),
        paragraph(toWords(answer.explanation), 'quiet'),
        showCandidates(answer),
        showOthers(answer),
      ]
    const others = candidates.length > 1 ? [create('h2', {}, 'Others'), showCandidates(answer)] : []
    return [paragraph('✓ This is the company.', 'done'), showRecord(match.company, answer), others]
  },
  history: (answer: HistoryResponse) => [
    create('h1', {}, answer.versions.at(-1)?.company?.legal_name ?? `Company ${answer.company_number}`),
    paragraph(
      `Recorded since ${showDay(answer.complete_since)}, ${plural(countDays(answer.gaps), 'day')} without a file.`,
    ),
    table(VERSION_HEADS.map(toHead), answer.versions.map((...each) => versionCells(...each).map(toWords)).toReversed()),
    answer.next_before &&
      link(urlOf('history', { company_number: answer.company_number, before: answer.next_before }), 'Earlier'),
  ],
  changes: (answer: ChangesResponse, { input }) => [
    create('h1', {}, answer.changes.length === 0 ? 'No company has changed' : 'What has changed'),
    answer.changes.length === 0 ? '' : table(CHANGE_HEADS.map(toHead), answer.changes.map(showChange)),
    answer.next_cursor && link(urlOf('changes', { ...input, cursor: answer.next_cursor }), 'More changes'),
  ],
}

const VERDICTS: Record<string, string> = {
  ambiguous: 'No company is certain. Choose one, or add an Eircode or an address',
  conflicting: 'The details contradict the best candidate',
  no_match: 'No company of the register has this name',
}

/** Best first, without the match. Each name leads to the record, which the answer has. */
function showCandidates(answer: Parameters<typeof candidateRows>[0]): Content {
  // A search decides nothing.
  const reasons = answer.match === undefined ? [] : candidateRows(answer).map(({ reason }) => toWords(reason))
  const rows = answer.candidates.flatMap(({ company, score }, at) => {
    const { company_number: number, legal_name: name, registered_date: registered } = company
    if (number === answer.match?.company.company_number) return []
    const bar = create('meter', { max: String(SCORE_MAX), value: String(score), 'aria-label': 'Score' })
    const named = [link(`#${number}`, name), create('div', { class: 'quiet' }, reasons[at])]
    return [[number, named, statusOf(company), addressOf(company), showDay(registered), [bar, `\u00A0${score}`]]]
  })
  if (rows.length === 0) return paragraph('Try fewer words, or another spelling.')
  return table(['Number', 'Name', 'Status', 'Address', 'Registered', 'Score'], rows)
}

/** Records that are no candidates. Each name leads to a lookup of its number. */
function showOthers(answer: ResolveResponse): Content {
  const rows = otherRows(answer).map(([number = '', name = '', relation = '']) => [
    number,
    link(urlOf('lookup', { company_number: number }), name),
    toWords(relation),
  ])
  return rows.length === 0 ? null : table(['Number', 'Name', 'Related'], rows)
}

export const toHead = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

const countDays = (gaps: HistoryResponse['gaps']): number =>
  gaps.reduce((days, { from, to }) => days + (Date.parse(to) - Date.parse(from)) / DAY_MS + 1, 0)

function showChange(change: ChangesResponse['changes'][number]): Content[] {
  const [date, number = '', ...others] = changeCells(change).map(toWords)
  return [date, link(urlOf('lookup', { company_number: number }), number), ...others]
}
