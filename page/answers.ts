/** Shows the answer of each operation as a person reads it. All texts of the service become text nodes. */
import { changeCells, CHANGE_HEADS } from '../agent/command-line/readable-answer.ts'
import { filingStatus } from '../agent/operation/filing-status.ts'
import type { ChangesResponse } from '../agent/operation/changes.ts'
import type { HistoryResponse } from '../agent/operation/history.ts'
import type { Operation } from '../agent/operation/operation.ts'
import type { ResolveResponse } from '../agent/operation/resolve.ts'
import type { Candidate } from '../agent/operation/result.ts'
import type { SearchResponse } from '../agent/operation/search.ts'
import type { Company } from '../store/dataset/company.ts'
import type { Source } from '../store/dataset/source.ts'
import { create, showDay, table, type Content } from './elements.ts'

/** An item of a batch. */
export interface Item {
  status: number
  body: { company?: Company; status?: string; match?: Candidate | null; candidates?: Candidate[] }
}

const RECEIPTS: Record<string, string> = {
  valid: '✓ Receipt verified: the service has signed this answer, this request and this payment.',
  missing: 'This answer has no receipt yet. Send the payment again to get it.',
  unchecked: 'The receipt was not verified, because the keys of the service could not be read.',
}

/** The library of the buyer has checked that the answer has the form of the operation. */
export function showAnswer({ definition, input }: Operation, text: string, receipt: string): Content[] {
  const answer = JSON.parse(text) as { source: Source; snapshot_id: string }
  const { source, snapshot_id: snapshot } = answer
  return [
    create('p', { class: `receipt ${receipt}` }, RECEIPTS[receipt] ?? receipt),
    SHOWN[definition.name]?.(answer as never, input as never),
    create(
      'p',
      { class: 'quiet' },
      `${source.publisher}, ${source.dataset}. Retrieved ${showDay(source.retrieved_at)}. `,
      create('code', {}, snapshot.slice(0, 19)),
      source.synthetic ? ' Made-up data.' : '',
    ),
    create(
      'details',
      {},
      create('summary', {}, 'JSON'),
      create('pre', { tabindex: '0' }, JSON.stringify(answer, null, 2)),
    ),
  ]
}

const SHOWN: Record<string, (answer: never, input: never) => Content> = {
  lookup: ({ company }: { company: Company }) => card(company),
  as_of: ({ company, source }: { company: Company; source: Source }, { date }: { date: string }) => [
    create('p', {}, `The record as the file before the end of ${showDay(date)} had it:`),
    card(company, source.source_updated_at?.slice(0, 10)),
  ],
  search: ({ candidates }: SearchResponse) =>
    candidates.length === 0 ? create('p', {}, 'No company has a similar name.') : ranking(candidates),
  resolve: (answer: ResolveResponse) => [
    create('p', { class: 'verdict' }, create('strong', {}, verdict(answer))),
    ranking(answer.candidates),
  ],
  history: timeline,
  changes: showChanges,
  batch: ({ results }: { results: Item[] }, { inputs }: { inputs: object[] }) =>
    table(
      ['Asked', 'Answer', 'Number', 'Name'],
      results.map((item, at) => [Object.values(inputs[at] ?? {}).join(', '), ...describeItem(item)]),
    ),
}

/** The decision of an item of a list, and the company that it names. */
export function describeItem({ status, body }: Item): [decision: string, number: string, name: string] {
  if (status !== 200) return [status === 404 ? 'not in the register' : 'several records', '', '']
  const company = body.company ?? body.match?.company
  if (company) return [body.company ? 'found' : 'matched', company.company_number, company.legal_name]
  return [body.status ?? '', '', (body.candidates ?? []).map((each) => each.company.legal_name).join(' / ')]
}

function card(company: Company, day = new Date().toISOString().slice(0, 10)): HTMLElement {
  const { lines, eircode } = company.registered_address
  const status = company.status ?? 'unknown status'
  return create(
    'article',
    { class: 'card' },
    create('h3', {}, company.legal_name),
    create('p', {}, create('strong', {}, status), ` ${company.company_type ?? ''}`),
    facts([
      ['Number', company.company_number],
      ['Address', [...lines, eircode].filter((line) => line).join(', ')],
      ['Registered', dateOf(company.registered_date)],
      ['Dissolved', dateOf(company.dissolved_date)],
      ['Next return', nextReturn(company, day)],
      ['Last return', dateOf(company.last_annual_return_date)],
      ['Last accounts', dateOf(company.last_accounts_date)],
      ['Activity', company.nace_v2_code ?? ''],
    ]),
  )
}

const dateOf = (date: string | null): string => (date === null ? '' : showDay(date))

/** Facts without a value are left out. */
const facts = (pairs: [name: string, value: string][]): HTMLElement =>
  create(
    'dl',
    { class: 'facts' },
    pairs.flatMap(([name, value]) => (value === '' ? [] : [create('dt', {}, name), create('dd', {}, value)])),
  )

function nextReturn(company: Company, day: string): string {
  const status = filingStatus(company, day)
  if (status.kind !== 'dated') return status.kind === 'dissolved' ? 'none, the company is dissolved' : ''
  const when = status.days < 0 ? `${-status.days} days ago` : `in ${status.days} days`
  return `${showDay(status.annual_return_date)} (${when})`
}

const VERDICTS: Record<string, string> = {
  ambiguous: 'More than one company fits, so a person has to choose.',
  conflicting: 'The details contradict the best candidate, so a person has to decide.',
  no_match: 'No company of the register has this name.',
}

function verdict({ status, match }: ResolveResponse): string {
  if (!match) return VERDICTS[status] ?? status
  return `This is ${match.company.legal_name}, number ${match.company.company_number}.`
}

const ranking = (candidates: Candidate[]): HTMLElement => create('ol', { class: 'ranking' }, candidates.map(candidate))

function candidate({ company, score, match_type: type, signals, conflicts }: Candidate): HTMLElement {
  const { name_similarity: similarity, eircode_exact: eircode, address_contains: address } = signals
  const percent = `${Math.round(similarity * 100)} %`
  const speaksFor = [
    signals.company_number_exact && 'the number is the one that was given',
    signals.strict_name_exact && 'the name is equal',
    type === 'relaxed_name' && 'the name is equal but for its legal form or a note',
    type === 'fuzzy_name' && similarity >= 0.5 && `the name is ${percent} similar`,
    eircode === true && 'the Eircode is equal',
    address === true && 'the address contains the fragment',
  ]
  const speaksAgainst = [
    type === 'fuzzy_name' && similarity < 0.5 && `the name is only ${percent} similar`,
    address === false && 'the address lacks the fragment',
    ...conflicts.map((code) => code.replaceAll('_', ' ')),
    company.dissolved_date !== null && `dissolved on ${showDay(company.dissolved_date)}`,
  ]
  return create(
    'li',
    {},
    create('strong', {}, company.legal_name),
    create('span', { class: 'quiet' }, ` ${company.company_number} · ${score} of 1000 points`),
    evidence('for', speaksFor),
    evidence('against', speaksAgainst),
  )
}

function evidence(side: string, texts: (string | false)[]): HTMLElement | undefined {
  const shown = texts.filter((text) => text !== false)
  return shown.length === 0 ? undefined : create('p', { class: side }, create('b', {}, `${side}: `), shown.join('; '))
}

function timeline({ versions, complete_since: since, gaps }: HistoryResponse): Content {
  const items = versions.map(({ state, first_seen: first, last_seen: last, company, changed }, at) => {
    const end = last === null ? 'today' : showDay(last.date)
    const before = versions[at - 1]?.company
    const fields = changed.map((field) => [field.replaceAll('_', ' '), difference(before?.[field], company?.[field])])
    return create(
      'li',
      {},
      create('time', { datetime: first.date }, `${showDay(first.date)} to ${end}`),
      create('strong', {}, company?.legal_name ?? `${state} in the file`),
      facts(fields as [string, string][]),
    )
  })
  const missing = gaps.length === 0 ? '' : ` ${gaps.length} days have no file.`
  const note = `Recorded since ${showDay(since)}, oldest first.${missing}`
  return [create('ol', { class: 'timeline' }, items), create('p', { class: 'quiet' }, note)]
}

function difference(before: unknown, after: unknown): string {
  const show = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? 'nothing'))
  return `${show(before)} → ${show(after)}`
}

function showChanges({ changes, next_cursor: next }: ChangesResponse): Content {
  if (changes.length === 0) return create('p', {}, 'No company has changed.')
  const more =
    next === null ? undefined : create('p', {}, 'There are more: continue with the cursor ', create('code', {}, next))
  return [table(CHANGE_HEADS, changes.map(changeCells)), more]
}
