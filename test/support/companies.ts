/** Small registers for tests: imported like any other, with the skills called directly. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Register } from '../../agent/answer/search/register.ts'
import { resolveResponseSchema, type ResolveResponse } from '../../agent/operation/resolve.ts'
import { searchResponseSchema, type SearchResponse } from '../../agent/operation/search.ts'
import { parseOperation } from '../../agent/operation/operation.ts'
import { type PreparedAnswer, prepareAnswer } from '../../agent/answer/answers.ts'
import { cachedNameIndex, type AnswerContext } from '../../agent/answer/registers.ts'
import { buildFile } from '../../store/import/build.ts'
import { snapshotFolder } from '../../store/files/layout.ts'
import { openSnapshot, type Snapshot } from '../../store/dataset/snapshot.ts'
import { SYNTHETIC, type Source } from '../../store/dataset/source.ts'
import { noJournal } from './journal.ts'
import { registerRow, toCsv } from './register.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'
import { singleOf } from './operations.ts'

const TIME = '2026-01-02T03:04:05.000Z'
const SOURCE: Source = { ...SYNTHETIC, retrieved_at: TIME, source_updated_at: null }

/** Two rows with the same number and other values make a quarantined number. */
export interface Row {
  number: string
  name: string
  status?: string
  dissolved?: string
  eircode?: string
  address?: string
}

export interface TestRegister extends Register {
  snapshot: Snapshot
  context: AnswerContext
  /** Parses the input, which must be valid, and calls the skill. The clock stands still unless one is given. */
  prepare(operation: string, input: unknown, now?: () => Date): PreparedAnswer
  search(input: unknown): SearchResponse
  resolve(input: unknown): ResolveResponse
  close(): Promise<void>
}

/** Writes the rows as a CSV file, imports it and opens the snapshot. */
export async function openTestRegister(
  rows: readonly Row[],
  { hasSyntheticCompany = false } = {},
): Promise<TestRegister> {
  const directory = await makeTemporaryDirectory()
  const path = join(directory, 'companies.csv')
  await writeFile(path, toCsv(...rows.map(toRegisterRow)))
  const now = () => new Date(TIME)
  const info = await buildFile({ dataDirectory: directory, path, importedAt: TIME })
  const snapshot = openSnapshot(snapshotFolder(directory, info.snapshot_id))
  const entry = { archive_sha256: '0'.repeat(64), newest_update: null, changes: null, validators: null }
  const dataset = { ...entry, snapshot_id: info.snapshot_id, source: SOURCE, location: path, snapshot }
  const context: AnswerContext = { dataset, journal: noJournal, hasSyntheticCompany, now }
  const prepare: TestRegister['prepare'] = (operation, input, clock = now) => {
    const parsed = parseOperation(singleOf(operation), input)
    if (parsed.kind === 'invalid') throw new Error(`Invalid ${operation}: ${parsed.fault.field} ${parsed.fault.rule}`)
    return prepareAnswer(parsed.operation, { ...context, now: clock })
  }
  return {
    snapshot,
    context,
    names: cachedNameIndex(snapshot),
    prepare,
    search: (input) => searchResponseSchema.parse(JSON.parse(answerBody(prepare('search', input)))),
    resolve: (input) => resolveResponseSchema.parse(JSON.parse(answerBody(prepare('resolve', input)))),
    close: () => snapshot.close(),
  }
}

/** Rows that have only a name, numbered from 1. */
export function toRows(names: readonly string[]): Row[] {
  return names.map((name, at) => ({ number: String(at + 1), name }))
}

export function answerBody(prepared: PreparedAnswer): string {
  if (prepared.kind === 'refused') throw new Error(`Refused with ${prepared.refusal.code}`)
  return prepared.body
}

export const companyNumbers = ({ candidates }: Pick<SearchResponse, 'candidates'>): string[] =>
  candidates.map(({ company }) => company.company_number)

function toRegisterRow({ number, name, status = 'Normal ', dissolved = '', eircode = '', address = '' }: Row) {
  const values = {
    company_num: number,
    company_name: name,
    company_status: status,
    company_address_1: address,
    eircode,
  }
  const none = { company_address_2: '', company_address_3: '', company_address_4: '' }
  return registerRow({ ...values, ...none, comp_dissolved_date: dissolved })
}
