/** Shows the answer of each operation as a person reads it. */
import { placeOf } from '../address.ts'
import { candidateRows, evidenceOf } from '../candidate-row.ts'
import { fitOf, sharesOnlyWord } from '../fit.ts'
import { noticesOf } from '../notices.ts'
import { changeCells, CHANGE_HEADS, otherRows, showGap, versionCells, VERSION_HEADS } from '../readable-answer.ts'
import type { ChangesResponse } from '../../agent/operation/changes.ts'
import type { HistoryResponse } from '../../agent/operation/history.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import type { ResolveResponse } from '../../agent/operation/resolve.ts'
import { SCORE_MAX, type Candidate } from '../../agent/operation/result.ts'
import type { SearchResponse } from '../../agent/operation/search.ts'
import type { Company } from '../../store/dataset/company.ts'
import { dateOfSource } from '../../store/dataset/source.ts'
import { create, details, link, paragraph, table, type Content } from './elements.ts'
import { askForEvidence } from './evidence.ts'
import { urlOf } from './question.ts'
import { showRecord, showSource, statusOf, type Provenance } from './record.ts'
import { toHead } from '../../base/grammar.ts'
import { plural, showDay, toWords } from './words.ts'

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

const recordLink = (number: string, text = '← The record') =>
  paragraph(link(urlOf('lookup', { company_number: number }), text), 'quiet')

const SHOWN: Record<string, (answer: never, operation: Operation) => Content> = {
  lookup: (answer: CompanyAnswer) => showRecord(answer.company, answer),
  as_of: (answer: CompanyAnswer, { input }) => [
    recordLink(answer.company.company_number, '← The record of today'),
    paragraph(
      `On ${showDay(String(input['date']))}, by the register's file of ${showDay(dateOfSource(answer.source))}:`,
    ),
    showRecord(answer.company, answer),
  ],
  search: showSearch,
  resolve: (answer: ResolveResponse) => (answer.match ? showMatch(answer, answer.match) : showDoubt(answer)),
  history: showHistory,
  changes: showChanges,
}

function showSearch(answer: SearchResponse): Content {
  const { candidates, query, candidate_limit_reached: isTruncated } = answer
  const similar = candidates.filter((each) => !sharesOnlyWord(each))
  const isFull = similar.length === query.limit
  const count = isFull ? `The first ${similar.length} results` : plural(similar.length, 'result')
  const more = [
    'There can be more. Type more of the name, or ',
    link(urlOf('search', { q: query.q }), 'add a status or an Eircode'),
    '.',
  ]
  return [
    create('h1', {}, similar.length === 0 ? `No company is named like “${query.q}”` : `${count} for “${query.q}”`),
    isTruncated ? paragraph(toWords(answer.explanation), 'doubt') : [],
    showCandidates(answer),
    isFull ? paragraph(more) : [],
    candidates.length === 0 ? paragraph('Try fewer words, or another spelling.') : [],
    askForEvidence({ name: query.q }, 'Which is the right one? Check an Eircode or address'),
  ]
}

/** What speaks against a match comes first: the record of a dissolved company is no plain yes. */
function showMatch(answer: ResolveResponse, match: Candidate): Content {
  const { company, signals } = match
  const lacksAddress = signals.address_contains === false
  const notices = noticesOf(company, dateOfSource(answer.source))
  const texts = notices.map(({ text }) => text).join('; ')
  const evidence = evidenceOf(match)
  const verdict = lacksAddress
    ? paragraph(`! The registered address does not have this text${evidence && `. What fits: ${evidence}`}.`, 'doubt')
    : notices.length > 0
      ? paragraph(`! This is the company, but note: ${toWords(texts)}. What fits: ${evidence}.`, 'doubt')
      : paragraph(`✓ This is the company: ${evidence}.`, 'done')
  const others = answer.candidates.length > 1 ? [create('h2', {}, 'Others'), showCandidates(answer)] : []
  return [verdict, showRecord(company, answer, { isChecked: true }), others, showRelated(answer)]
}

const VERDICTS: Record<string, string> = {
  ambiguous: 'No company is certain',
  conflicting: 'The details contradict each other',
  no_match: 'No company of the register has this name',
}

/** What a person does next, by the code of the answer. */
const NEXT: Partial<Record<ResolveResponse['next'], string>> = {
  choose: 'Choose one of them.',
  narrow: 'Type more of the name.',
  add_eircode: 'Add the Eircode.',
  add_address: 'Add a part of the address.',
  correct_eircode: 'Check the Eircode.',
  correct_number: 'Check the number.',
}

function showDoubt(answer: ResolveResponse): Content {
  const { status, query, explanation, next } = answer
  const [first] = candidateRows(answer)
  const contradiction = status === 'conflicting' && first ? `${first.name}: ${toWords(first.reason)}.` : ''
  return [
    create('h1', {}, VERDICTS[status] ?? status),
    contradiction && paragraph(contradiction, 'doubt'),
    paragraph([toWords(explanation), ' ', NEXT[next] ?? '']),
    answer.candidates.length > 0 ? showCandidates(answer) : [],
    showRelated(answer),
    next === 'search' && query.name
      ? paragraph(link(urlOf('search', { q: query.name }), 'Search for similar names'))
      : [],
  ]
}

/** Records that are no candidates. Each name leads to a lookup of its number. */
function showRelated(answer: ResolveResponse): Content {
  const rows = otherRows(answer).map(([number = '', name = '', relation = '']) => [
    link(urlOf('lookup', { company_number: number }), name),
    number,
    toWords(relation),
  ])
  return rows.length === 0 ? [] : [create('h2', {}, 'See also'), table(['Name', 'Number', 'Why'], rows, 'rows results')]
}

/** Best first, without the match. What shares only a word is folded. Each name leads to its record in the answer. */
function showCandidates(answer: Parameters<typeof candidateRows>[0] & Provenance): Content {
  // A search decides nothing.
  const reasons = answer.match === undefined ? [] : candidateRows(answer).map(({ reason }) => toWords(reason))
  const rowsOf = (isFar: boolean) =>
    answer.candidates.flatMap((candidate, at) => {
      const { company, score } = candidate
      const { company_number: number, legal_name: name } = company
      if (number === answer.match?.company.company_number || sharesOnlyWord(candidate) !== isFar) return []
      const named = [link(`#${number}`, name), reasons[at] ? create('div', { class: 'quiet' }, reasons[at]) : []]
      const fit = create('span', { title: `${score} of ${SCORE_MAX} points` }, fitOf(candidate))
      return [[named, number, statusOf(company, answer), placeOf(company), showDay(company.registered_date), fit]]
    })
  const show = (rows: Content[][]) =>
    table(['Name', 'Number', 'Status', 'Place', 'Registered', 'Fit'], rows, 'rows results')
  const [near, far] = [rowsOf(false), rowsOf(true)]
  return [
    near.length > 0 ? show(near) : [],
    far.length > 0 ? details(`${plural(far.length, 'other name')} with a common word`, show(far)) : [],
  ]
}

/** The days that are covered, and those in between without a file. */
function showCovered({ complete_since, gaps }: Pick<HistoryResponse, 'complete_since' | 'gaps'>): Content {
  const days = gaps.map((gap) => toWords(showGap(gap))).join(', ')
  return [
    paragraph(`Files of the register are recorded since ${showDay(complete_since)}.`, 'quiet'),
    gaps.length === 0 ? [] : details('Days with no file recorded', paragraph(days)),
  ]
}

function showHistory(answer: HistoryResponse): Content {
  const { company_number: number, versions, next_before } = answer
  const name = versions.findLast(({ company }) => company !== null)?.company?.legal_name
  return [
    recordLink(number),
    create('h1', {}, name ? `${name}, history` : `History of company ${number}`),
    paragraph(`Number ${number}`),
    showCovered(answer),
    table(VERSION_HEADS.map(toHead), versions.map((...each) => versionCells(...each).map(toWords)).toReversed()),
    next_before && link(urlOf('history', { company_number: number, before: next_before }), 'Earlier'),
  ]
}

function showChanges(answer: ChangesResponse, { input }: Operation): Content {
  const { changes, next_cursor, not_in_register: unknown = [] } = answer
  const { company_numbers: numbers = [] } = input as { company_numbers?: string[] }
  const [only] = numbers.length === 1 ? numbers : []
  const name = changes.map(({ after, before }) => after ?? before).find((each) => each !== null)?.legal_name
  const what = changes.length === 0 ? 'No change is recorded' : 'What has changed'
  return [
    only ? recordLink(only) : [],
    create('h1', {}, only && name ? `${name}, changes` : what),
    unknown.length > 0 ? paragraph(`No file has had: ${unknown.join(', ')}.`, 'doubt') : [],
    changes.length === 0 ? [] : table(CHANGE_HEADS.map(toHead), changes.map(showChange)),
    showCovered(answer),
    next_cursor && link(urlOf('changes', { ...input, cursor: next_cursor }), 'More changes'),
  ]
}

function showChange(change: ChangesResponse['changes'][number]): Content[] {
  const [date, number = '', ...others] = changeCells(change).map(toWords)
  return [date, link(urlOf('lookup', { company_number: number }), number), ...others]
}
