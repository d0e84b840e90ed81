/** Small registers of made-up companies, imported as any other, with the skills asked directly. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Register } from '../../agent/matching/find.ts'
import { resolveResponseSchema, searchResponseSchema } from '../../agent/operation/result.ts'
import type { ResolveResponse, SearchResponse } from '../../agent/operation/result.ts'
import { parseOperation, type OperationName } from '../../agent/operation/schema.ts'
import { namesOf } from '../../agent/skills/names.ts'
import type { Prepared, Shelf } from '../../agent/skills/skill.ts'
import { prepareAnswer } from '../../agent/skills/skills.ts'
import { buildFile } from '../../store/import/build.ts'
import { snapshotFolder } from '../../store/layout.ts'
import { openSnapshot } from '../../store/snapshot.ts'
import { SYNTHETIC, type Source } from '../../store/source.ts'
import { PROCESSES } from './fixtures.ts'

const HEADER =
  'company_num,company_name,company_status_code,company_status,company_type_code,company_type,company_reg_date,' +
  'last_ar_date,company_address_1,company_address_2,company_address_3,company_address_4,comp_dissolved_date,nard,' +
  'last_accounts_date,company_status_date,nace_v2_code,eircode,company_name_eff_date,company_type_eff_date,' +
  'princ_object_code'

const TIME = '2026-01-02T03:04:05.000Z'
const SOURCE: Source = { ...SYNTHETIC, retrieved_at: TIME, source_updated_at: null }

/** A row of the register; the same number twice with different rows is a quarantined one. */
export interface Row {
  number: string
  name: string
  status?: string
  dissolved?: string
  eircode?: string
  address?: string
}

export interface TestRegister extends Register {
  shelf: Shelf
  /** What a skill answers to an input of any shape that its schema takes. */
  prepare(operation: OperationName, input: unknown, isTimeUp?: () => boolean): Prepared
  search(input: unknown): SearchResponse
  resolve(input: unknown): ResolveResponse
  close(): Promise<void>
}

/** Imports the rows as a CSV file and opens what came of it. */
export async function registerOf(rows: readonly Row[]): Promise<TestRegister> {
  const directory = await mkdtemp(join(tmpdir(), 'companies-'))
  const path = join(directory, 'companies.csv')
  await writeFile(path, [HEADER, ...rows.map(lineOf), ''].join('\n'))
  const now = () => new Date(TIME)
  const info = await buildFile({
    dataDirectory: directory,
    path,
    processes: PROCESSES,
    now,
    onProgress: () => undefined,
  })
  const snapshot = openSnapshot(snapshotFolder(directory, info.snapshot_id))
  const shelf: Shelf = { dataset: { snapshot, source: SOURCE }, hasSyntheticCompany: false, isTimeUp: () => false }
  const prepare: TestRegister['prepare'] = (operation, input, isTimeUp = () => false) => {
    const parsed = parseOperation(operation, input)
    if (!parsed.valid) throw new Error(`${operation} does not take this: ${parsed.fault.field} ${parsed.fault.rule}`)
    return prepareAnswer(parsed.operation, { ...shelf, isTimeUp })
  }
  return {
    snapshot,
    names: namesOf(snapshot),
    shelf,
    prepare,
    search: (input) => searchResponseSchema.parse(JSON.parse(bodyOf(prepare('search', input)))),
    resolve: (input) => resolveResponseSchema.parse(JSON.parse(bodyOf(prepare('resolve', input)))),
    async close() {
      await snapshot.close()
      await rm(directory, { recursive: true })
    },
  }
}

/** Rows of nothing but names, numbered from 1. */
export function rowsOf(names: readonly string[]): Row[] {
  return names.map((name, place) => ({ number: String(place + 1), name }))
}

export function bodyOf(prepared: Prepared): string {
  if (prepared.kind === 'refused') throw new Error(`refused: ${prepared.refusal.code}`)
  return prepared.body
}

export const numbersOf = ({ candidates }: { candidates: SearchResponse['candidates'] }): string[] =>
  candidates.map(({ company }) => company.company_number)

function lineOf({ number, name, status = 'Normal ', dissolved = '', eircode = '', address = '' }: Row): string {
  const before = [number, name, '1151', status, '1153', 'LTD - Private Company Limited by Shares', '2021-01-19', '']
  const fields = [...before, address, '', '', '', dissolved, '', '', '', '', eircode, '', '', '']
  return fields.map((field) => `"${field.replaceAll('"', '""')}"`).join(',')
}
