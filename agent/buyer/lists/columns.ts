/** The columns that a list has and gets. */
import type { Candidate } from '../../operation/result.ts'
import { toSafeCell } from './safe-cell.ts'
import type { RowCells, RowResult } from './rows.ts'

type Columns = Partial<Record<keyof RowCells, number>>

/** Characters of a header in an error. */
const SHOWN_MAX = 300

/** @param names the header or the number, from 1, of each column */
export function findColumns(names: RowCells, firstRow: readonly string[], hasHeader: boolean): Columns {
  const find = (name: string) => {
    const named = hasHeader ? firstRow.indexOf(name) : -1
    const index = named === -1 && /^[1-9][0-9]{0,4}$/.test(name) ? Number(name) - 1 : named
    if (index >= 0 && index < firstRow.length) return index
    const known = hasHeader
      ? `Its columns are: ${firstRow.join(' | ').slice(0, SHOWN_MAX)}`
      : `It has ${firstRow.length} columns`
    throw new Error(`The file has no column ${name}. ${known}. To name another separator, add --separator`)
  }
  return Object.fromEntries(Object.entries(names).map(([field, name]) => [field, find(name)]))
}

export function readCells(row: readonly string[], columns: Columns): RowCells {
  return Object.fromEntries(Object.entries(columns).map(([field, index]) => [field, row[index] ?? '']))
}

const ALTERNATIVES_MAX = 3

const ADDED = [
  'company_number',
  'legal_name',
  'status',
  'decision',
  'score',
  ...Array.from({ length: ALTERNATIVES_MAX }, (_, index) => `alternative_${index + 1}`),
  'snapshot_id',
  'receipt',
]

/** The header of the added columns. A name that the file has already gets a number. */
export function addedHeader(header: readonly string[]): string[] {
  return ADDED.map((name) => {
    let unique = name
    for (let number = 2; header.includes(unique); number += 1) unique = `${name}_${number}`
    return unique
  })
}

/**
 * The added fields of a row. Only a matched row names a company. The decision of a refused row is the code of the
 * refusal.
 * @param receiptFolder the folder of the purchases, as the column shows it
 */
export function addedFields(result: RowResult, receiptFolder: string): string[] {
  if (result.kind === 'empty') return toFields({})
  const receipt = result.payment && `${receiptFolder}/${result.payment.purchase}`
  if (result.kind === 'refused') return toFields({ decision: result.code, receipt })
  const { answer } = result
  const { status, match, candidates, snapshot_id } = answer
  const others = candidates.filter(({ company }) => company.company_number !== match?.company.company_number)
  return toFields({
    company_number: match?.company.company_number,
    legal_name: match?.company.legal_name,
    status: match?.company.status,
    decision: status,
    score: candidates[0]?.score,
    ...Object.fromEntries(others.slice(0, ALTERNATIVES_MAX).map(toAlternative)),
    snapshot_id,
    receipt,
  })
}

function toAlternative({ company, score }: Candidate, index: number): [string, string] {
  return [`alternative_${index + 1}`, `${company.company_number} ${company.legal_name} (${score})`]
}

function toFields(values: Record<string, string | number | null | undefined>): string[] {
  return ADDED.map((name) => toSafeCell(String(values[name] ?? '')))
}
