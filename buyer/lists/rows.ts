/** What a row of a list asks for, and what it gets. Runs in browsers too. */
import { lookup } from '../../agent/operation/lookup.ts'
import { parseOperation, type Operation } from '../../agent/operation/operation.ts'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { resolve, type ResolveResponse } from '../../agent/operation/resolve.ts'
import { namesCompany, readTypedNumber } from '../../agent/operation/typed-number.ts'
import type { Company } from '../../store/dataset/company.ts'
import { isSignedNumber } from '../typed-input.ts'

/** The texts of a row. Blank ones count as missing. */
export type RowCells = Partial<Record<'name' | 'company_number' | 'eircode' | 'address', string>>

/** What a row asks for, and what was left out of it. */
export interface ParsedRow {
  kind: 'valid' | 'invalid' | 'empty'
  /** Undefined unless the row is valid. */
  operation?: Operation
  notes: string[]
}

interface FoundRecord {
  answer: { company: Company; snapshot_id: string }
  purchase: string
}

/** `purchase` is the entry of the purchase in the folder of the buyer. */
export type RowResult =
  | { kind: 'bought'; answer: ResolveResponse; purchase: string }
  /** The record of the number, which is all that the row has. */
  | ({ kind: 'found' } & FoundRecord)
  /** The record of the company that a person has chosen, and the resolution in which it was a candidate. */
  | ({ kind: 'chosen'; resolution?: ResolveResponse } & FoundRecord)
  /** A person has decided that no candidate is the company. */
  | { kind: 'none'; answer: ResolveResponse; purchase: string }
  /** With `purchase`, a batch charged for this row. Without it, the whole request was refused. */
  | { kind: 'refused'; code: RefusalCode; purchase?: string }
  /** The row has neither a name nor a number, or is hidden. Its notes say which. */
  | { kind: 'empty' }
  /** The run ended before the row. `isOpen`: a payment was sent, and has no answer. */
  | { kind: 'left'; isOpen: boolean }

/** Evidence that breaks the rules of the operation, such as "n/a" in place of an Eircode, is left out. */
const EVIDENCE: ReadonlySet<string | null> = new Set(['eircode', 'address'])

/** An error of a spreadsheet, and what databases and people write for nothing. */
const ABSENT = /^(?:#(?:N\/A|GETTING_DATA|[A-Z/0]+[!?])|null|n\/a|[-–—])$/i
export const isAbsent = (text: string): boolean => ABSENT.test(text)

/** What a row asks for: a lookup if it has only a number, else a resolution. */
export function parseRow(cells: RowCells): ParsedRow {
  const input: RowCells = {}
  const notes: string[] = []
  const leaveOut = (field: keyof RowCells) => {
    notes.push(`${field} not read: ${input[field]}`)
    delete input[field]
  }
  for (const [name, text = ''] of Object.entries(cells)) {
    const field = name as keyof RowCells
    if (text.trim() !== '') input[field] = text.trim()
    const own = input[field] ?? ''
    if (isAbsent(own) || isSignedNumber(own)) leaveOut(field)
  }
  const number = input.company_number
  const digits = readTypedNumber(number ?? '')?.digits
  if (digits !== undefined) input.company_number = digits
  // A number that cannot be read is left out beside a name.
  else if (number !== undefined && input.name !== undefined) leaveOut('company_number')
  if (input.name === undefined && input.company_number === undefined) return { kind: 'empty', notes }
  const only = numberOf(input)
  const looked = only === undefined ? undefined : parseOperation(lookup, { company_number: only })
  if (looked?.kind === 'valid') return { kind: 'valid', operation: looked.operation, notes }
  for (;;) {
    const parsed = parseOperation(resolve, input)
    if (parsed.kind === 'valid') return { kind: 'valid', operation: parsed.operation, notes }
    const { field, rule } = parsed.fault
    if (!EVIDENCE.has(field)) return { kind: 'invalid', notes: [...notes, `${field ?? 'the row'} ${rule}`] }
    leaveOut(field as keyof RowCells)
  }
}

/** The number of a row that has nothing else, also if it is in the column of the names. */
function numberOf({ name, company_number, eircode, address }: RowCells): string | undefined {
  if (eircode !== undefined || address !== undefined) return undefined
  if (name === undefined) return company_number
  const typed = company_number === undefined ? readTypedNumber(name) : undefined
  return typed && namesCompany(typed) ? typed.digits : undefined
}

/** What a person writes in place of a number if no candidate is the company. */
export const NONE = 'none'

/** What a person has chosen among the candidates of an answer that was paid for: a number, or `NONE`. */
export function choose(result: RowResult, number: string): RowResult | undefined {
  if (result.kind !== 'bought') return undefined
  const { answer, purchase } = result
  if (number === NONE) return { kind: 'none', answer, purchase }
  const company = answer.candidates.find(({ company: each }) => each.company_number === number)?.company
  if (!company) return undefined
  return { kind: 'chosen', answer: { company, snapshot_id: answer.snapshot_id }, purchase, resolution: answer }
}

/** Whether a row asks with a name and a number, so that each can contradict the other. */
export const isNumbered = ({ input }: Operation): boolean =>
  Object.hasOwn(input, 'name') && Object.hasOwn(input, 'company_number')

/** The same row without its number. Undefined unless it has a name and a number. */
export function askByName(operation: Operation): Operation | undefined {
  if (!isNumbered(operation)) return undefined
  const { company_number: _number, ...others } = operation.input as RowCells
  const parsed = parseOperation(resolve, others)
  return parsed.kind === 'valid' ? parsed.operation : undefined
}

/** Whether no company has the number of the row. */
export const isUnknownNumber = (result: RowResult): boolean =>
  result.kind === 'refused' && result.code === 'company_not_found'

/** The answer to a row whose own number is wrong: only its own Eircode makes a name certain. */
export function withoutNumber(result: RowResult): RowResult {
  if (result.kind !== 'bought' || !result.answer.match || result.answer.match.signals.eircode_exact === true)
    return result
  return { ...result, answer: { ...result.answer, status: 'ambiguous', match: null } }
}

/** Whether the result leaves the choice to a person. */
export const needsReview = (result: RowResult): boolean =>
  result.kind === 'refused' || (result.kind === 'bought' && result.answer.match === null)
