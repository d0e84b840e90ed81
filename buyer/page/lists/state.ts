/** A bought list as data: its rows, what a person has decided, and what both come to. Nothing here needs a browser. */
import { candidateRows } from '../../candidate-row.ts'
import { otherRows } from '../../readable-answer.ts'
import { isBlank } from '../../table/cell.ts'
import type { ResolveResponse } from '../../../agent/operation/resolve.ts'
import type { ListedRow } from '../../lists/list.ts'
import { whyOf } from '../../lists/result-columns.ts'
import { choose, NONE, type RowResult } from '../../lists/rows.ts'
import { isDissolved, type Company } from '../../../store/dataset/company.ts'
import { withoutTechnical } from '../words.ts'

/** What a person has done for a row. The last choice counts, and all steps are its trail. */
export interface Step {
  kind: 'chosen' | 'none' | 'undone' | 'noted'
  /** ISO 8601. */
  at: string
  /** Of the chosen company. */
  number?: string
  note: string
}

/** By the review keys of the rows, so that equal rows have one decision. */
export type Trails = Readonly<Record<string, readonly Step[]>>

/** A row and what is stored for it, without the choice of a person. */
export interface KnownRow {
  listed: ListedRow
  key: string
  result: RowResult
}

type Group = 'matched' | 'undecided' | 'unmatched' | 'unread' | 'open' | 'unpaid'

/** What the page shows of a row. */
export interface ShownRow {
  key: string
  at: number
  asked: readonly string[]
  group: Group
  decision: string
  company: Company | undefined
  /** The file of the register, if the row has an answer. */
  provenance: Provenance | undefined
  /** The condition of a company that a buyer should know of. Empty if there is none. */
  condition: string
  why: string
  note: string
  /** Whether a person has decided. */
  isDecided: boolean
  /** Whether a person can decide otherwise. */
  canChange: boolean
  known: KnownRow
}

/** In the order of the summary. */
const WORDS: Record<Group, { decision: string; counted: string }> = {
  matched: { decision: 'matched', counted: 'matched' },
  undecided: { decision: 'to decide', counted: 'to decide' },
  unmatched: { decision: 'no match', counted: 'without a match' },
  unread: { decision: 'not read', counted: 'not read' },
  open: { decision: 'no answer yet', counted: 'without an answer yet' },
  unpaid: { decision: 'not bought', counted: 'not bought' },
}

export const lastChoice = (steps: readonly Step[]): Step | undefined => {
  const step = steps.findLast(({ kind }) => kind !== 'noted')
  return step?.kind === 'undone' ? undefined : step
}

/** The result after the choice of a person. */
export function decidedResult(result: RowResult, choice: Step | undefined): RowResult {
  if (!choice) return result
  return choose(result, choice.kind === 'none' ? NONE : (choice.number ?? '')) ?? result
}

/** The company that a result names. */
function companyOf(result: RowResult): Company | undefined {
  if (result.kind === 'bought') return result.answer.match?.company
  return result.kind === 'found' || result.kind === 'chosen' ? result.answer.company : undefined
}

/** Dissolved, in liquidation and strike-off listed have words of their own. Any other status is shown as it is. */
function conditionOf(company: Company | undefined): string {
  if (!company) return ''
  if (isDissolved(company)) return 'dissolved'
  const status = company.status ?? ''
  if (/^liquidation/i.test(status)) return 'in liquidation'
  if (/^strike.?off/i.test(status)) return 'strike-off listed'
  return /^normal$/i.test(status) ? '' : status.toLowerCase()
}

/** What the row asked for: its name, its number if it was read, and its Eircode. */
function askedOf({ cells, operation, kind }: ListedRow): string[] {
  const isRead = (field: string) => kind !== 'valid' || field === 'name' || Object.hasOwn(operation?.input ?? {}, field)
  const fields = (['name', 'company_number', 'eircode'] as const).filter(isRead)
  return fields.map((field) => cells[field] ?? '').filter((text) => !isBlank(text))
}

export function showRow(known: KnownRow, steps: readonly Step[] = []): ShownRow {
  const { listed, key } = known
  const choice = known.result.kind === 'bought' ? lastChoice(steps) : undefined
  const result = decidedResult(known.result, choice)
  const company = companyOf(result)
  const group = groupOf(known, company, choice)
  return {
    key,
    at: listed.at,
    asked: askedOf(listed),
    group,
    decision: choice ? (choice.kind === 'none' ? 'none of these' : 'chosen') : WORDS[group].decision,
    company,
    provenance: provenanceOf(known.result),
    condition: conditionOf(company),
    why: [choice ? '' : reasonOf(known, group), ...listed.notes.map(withoutTechnical)].filter(Boolean).join('; '),
    note: steps.findLast(({ note }) => note !== '')?.note ?? '',
    isDecided: choice !== undefined,
    canChange: canChange(known.result, choice),
    known,
  }
}

/** The only candidate of a match needs no second look. */
function canChange(result: RowResult, choice: Step | undefined): boolean {
  if (result.kind !== 'bought') return false
  const { match, candidates } = result.answer
  return choice !== undefined || candidates.length > (match ? 1 : 0)
}

function groupOf({ listed, result }: KnownRow, company: Company | undefined, choice: Step | undefined): Group {
  if (listed.kind !== 'valid') return 'unread'
  if (result.kind === 'left') return result.isOpen ? 'open' : 'unpaid'
  if (company) return 'matched'
  const hasCandidates = result.kind === 'bought' && result.answer.candidates.length > 0
  return hasCandidates && !choice ? 'undecided' : 'unmatched'
}

/** One sentence, without points and codes. */
function reasonOf({ listed, result }: KnownRow, group: Group): string {
  if (group === 'unread') return listed.notes.length > 0 ? '' : 'no name and no number'
  if (group === 'unpaid') return ''
  if (result.kind !== 'bought' || result.answer.match) return whyOf(result)
  const [first] = candidateRows(result.answer)
  if (first) return first.reason
  const [other = []] = otherRows(result.answer)
  return ['no company has this name', other.join(' ')].filter(Boolean).join('; ')
}

type Provenance = Pick<ResolveResponse, 'source' | 'snapshot_id'>

/** The answer to a lookup has its source too. */
const provenanceOf = (result: RowResult): Provenance | undefined =>
  'answer' in result ? (result.answer as Provenance) : undefined

/** A record that the list has bought. */
export interface ListedRecord {
  company: Company
  provenance: Provenance
  /** The entry of its payment. */
  purchase: string
}

/** The record of a number among all answers of a list, also of a candidate. */
export function findRecord(rows: readonly ShownRow[], number: string): ListedRecord | undefined {
  for (const { known } of rows) {
    const { result } = known
    if (result.kind !== 'bought' && result.kind !== 'found') continue
    const companies =
      result.kind === 'found' ? [result.answer.company] : result.answer.candidates.map(({ company }) => company)
    const company = companies.find((each) => each.company_number === number)
    if (company) return { company, provenance: result.answer as Provenance, purchase: result.purchase }
  }
  return undefined
}

/** Shows only some rows. */
export interface Filter {
  id: string
  text: string
  /** The group that it is a part of. */
  within?: Group
  accepts: (row: ShownRow) => boolean
}

/** The groups that have rows, and the conditions of their companies. */
export function summarise(rows: readonly ShownRow[]): Filter[] {
  return (Object.keys(WORDS) as Group[]).flatMap((group): Filter[] => {
    const inGroup = rows.filter((row) => row.group === group)
    if (inGroup.length === 0) return []
    const conditions = [...new Set(inGroup.flatMap(({ condition }) => (condition === '' ? [] : [condition])))]
    const parts = conditions.toSorted().map((condition): Filter => {
      const accepts = (row: ShownRow) => row.group === group && row.condition === condition
      const text = `${inGroup.filter(accepts).length} ${condition}`
      return { id: `${group} ${condition}`, text, within: group, accepts }
    })
    const whole: Filter = {
      id: group,
      text: `${inGroup.length} ${WORDS[group].counted}`,
      accepts: (row) => row.group === group,
    }
    return [whole].concat(parts)
  })
}

/** `34 matched (2 dissolved), 3 to decide` */
export function describeSummary(filters: readonly Filter[]): string {
  const groups = filters.filter(({ within }) => within === undefined)
  return groups
    .map(({ id, text }) => {
      const parts = filters.filter(({ within }) => within === id)
      return parts.length > 0 ? `${text} (${parts.map((part) => part.text).join(', ')})` : text
    })
    .join(', ')
}

/** The index of the next row that a person must decide, from `start` on and then from the first row. */
export function nextUndecided(rows: readonly ShownRow[], start: number): number | undefined {
  const isNext = ({ group }: ShownRow) => group === 'undecided'
  const later = rows.findIndex((row, at) => at >= start && isNext(row))
  const found = later >= 0 ? later : rows.findIndex(isNext)
  return found >= 0 ? found : undefined
}

/** The trail of a row as the text of a cell. */
export function describeTrail(steps: readonly Step[]): string {
  const texts: Record<Step['kind'], (step: Step) => string> = {
    chosen: ({ number }) => `chosen ${number}`,
    none: () => 'none of these',
    undone: () => 'taken back',
    noted: () => 'note',
  }
  return steps
    .map((step) => {
      const time = step.at.slice(0, 16).replace('T', ' ')
      return `${time} UTC ${texts[step.kind](step)}${step.note === '' ? '' : `: ${step.note}`}`
    })
    .join('; ')
}
