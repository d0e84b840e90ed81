/**
 * The register of a benchmark on names. Some companies are removed first, so that queries for them must find nothing.
 */
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { generateRegister } from '../support/sample/generate.ts'
import type { Company } from '../../store/dataset/company.ts'
import { openCsv } from '../../store/import/archive.ts'
import { normalise } from '../../store/import/normalise.ts'
import { readRows, type RegisterRow } from '../../store/import/rows.ts'
import { toCsvLine, HEADER } from '../support/register.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { openNames, runImport } from './generated-register.ts'
import { toBenchCompany, type BenchCompany } from './quality/register.ts'
import { shuffled } from './quality/sample.ts'

const REMOVAL_SEED_STEP = 104_729

interface BenchRegisterOptions {
  /** The register as it is published, an archive or a CSV file. Without it, `rows` are made up. */
  dataset: string | undefined
  rows: number
  seed: number
  /** How many companies are removed. */
  removals: number
}

export async function openBenchRegister({ dataset, rows, seed, removals }: BenchRegisterOptions) {
  const directory = await makeTemporaryDirectory()
  const path = dataset ?? join(directory, 'generated.zip')
  if (dataset === undefined) await generateRegister({ rows, seed, out: path })
  const numbers: string[] = []
  for await (const { company } of readCompanies(path)) numbers.push(company.company_number)
  const removed = new Map<string, BenchCompany | undefined>(
    shuffled(numbers, seed + REMOVAL_SEED_STEP)
      .slice(0, removals)
      .map((number) => [number, undefined]),
  )
  const reduced = join(directory, 'reduced.csv')
  await pipeline(Readable.from(withoutRemoved(path, removed)), createWriteStream(reduced))
  await runImport(reduced, join(directory, 'reduced'))
  const found = [...removed.values()].filter((company) => company !== undefined)
  return { ...openNames(join(directory, 'reduced')), removed: found }
}

/** The file without the rows of the removed companies, which are added to the map. */
async function* withoutRemoved(path: string, removed: Map<string, BenchCompany | undefined>): AsyncGenerator<string> {
  yield `${HEADER}\n`
  for await (const { row, company } of readCompanies(path)) {
    if (removed.has(company.company_number)) removed.set(company.company_number, toBenchCompany(company))
    else yield `${toCsvLine(row)}\n`
  }
}

async function* readCompanies(path: string): AsyncGenerator<{ row: RegisterRow; company: Company }> {
  for await (const batch of readRows(await openCsv(path))) {
    for (const parsed of batch) {
      const normalised = parsed.kind === 'row' ? normalise(parsed.row, () => undefined) : parsed
      if (parsed.kind === 'row' && normalised.kind === 'company') yield { row: parsed.row, company: normalised.company }
    }
  }
}
