/**
 * The register of a benchmark on names: an imported one or a generated one. Some companies can be removed first, so that
 * queries for them must find nothing.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { createWriteStream } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { SkillContext } from '../../agent/skills/registers.ts'
import { noJournal } from '../support/journal.ts'
import { openCatalog, type Catalog } from '../../store/dataset/catalog.ts'
import type { Company } from '../../store/dataset/company.ts'
import type { RegisterRow } from '../../store/import/rows.ts'
import type { Snapshot } from '../../store/dataset/snapshot.ts'
import { toCsvLine, HEADER } from '../support/register.ts'
import { generateArchive, readableCompanies, runImport } from './generated-register.ts'
import { toBenchCompany, ReferenceRegister, type BenchCompany } from './quality/register.ts'
import { shuffled } from './quality/sample.ts'

const REMOVAL_SEED_STEP = 104_729

interface BenchRegisterOptions {
  /** A DATA_DIR with an imported snapshot. Without one, `rows` are generated. */
  data: string | undefined
  rows: number
  seed: number
  /** How many companies are removed. */
  removals: number
}

export interface BenchRegister extends AsyncDisposable {
  /** For the heading of a table. */
  description: string
  snapshotId: string
  register: ReferenceRegister
  removed: readonly BenchCompany[]
  context: SkillContext
}

export async function openBenchRegister(options: BenchRegisterOptions): Promise<BenchRegister> {
  const { data, rows, seed, removals } = options
  const directory = await mkdtemp(join(tmpdir(), 'bench-register-'))
  const removeDirectory = () => rm(directory, { recursive: true })
  try {
    const original = openCatalog(data ?? (await generate(directory, { rows, seed })))
    const snapshot = currentSnapshot(original)
    const companies = [...readableCompanies(snapshot)].map(toBenchCompany)
    const removed = shuffled(companies, seed + REMOVAL_SEED_STEP).slice(0, removals)
    const removedNumbers = new Set(removed.map(({ number }) => number))
    const path = join(directory, 'reduced.csv')
    await pipeline(Readable.from(toCsv(snapshot, removedNumbers)), createWriteStream(path))
    await original.close()
    await runImport('import', path, join(directory, 'reduced'))
    const catalog = openCatalog(join(directory, 'reduced'))
    const kind = data === undefined ? 'a generated register' : 'an imported register'
    return {
      description: `${kind} of ${companies.length} companies, ${removals} of them removed`,
      snapshotId: currentSnapshot(catalog).info.snapshot_id,
      register: new ReferenceRegister(companies.filter(({ number }) => !removedNumbers.has(number))),
      removed,
      // The clock stands still, so that no slow search is refused.
      context: { dataset: catalog.current(), journal: noJournal, hasSyntheticCompany: false, now: () => new Date(0) },
      async [Symbol.asyncDispose]() {
        await catalog.close()
        await removeDirectory()
      },
    }
  } catch (cause) {
    await removeDirectory()
    throw cause
  }
}

/** @returns the DATA_DIR of a generated and imported register */
async function generate(directory: string, { rows, seed }: { rows: number; seed: number }): Promise<string> {
  const path = join(directory, 'generated.zip')
  await generateArchive({ rows, seed, path })
  await runImport('import', path, join(directory, 'generated'))
  return join(directory, 'generated')
}

function currentSnapshot(catalog: Catalog): Snapshot {
  const dataset = catalog.current()
  if (!dataset) throw new Error('The data directory has no imported register')
  return dataset.snapshot
}

function* toCsv(snapshot: Snapshot, removedNumbers: ReadonlySet<string>): Generator<string> {
  yield `${HEADER}\n`
  for (const company of readableCompanies(snapshot)) {
    if (!removedNumbers.has(company.company_number)) yield `${toCsvLine(toRow(company))}\n`
  }
}

/** The register row from which an import would build this record. */
function toRow(company: Company): RegisterRow {
  const [first = '', second = '', third = '', fourth = ''] = company.registered_address.lines
  return {
    company_num: company.company_number,
    company_name: company.legal_name,
    company_status_code: company.status_code ?? '',
    company_status: company.status ?? '',
    company_type_code: company.company_type_code ?? '',
    company_type: company.company_type ?? '',
    company_reg_date: company.registered_date ?? '',
    last_ar_date: company.last_annual_return_date ?? '',
    company_address_1: first,
    company_address_2: second,
    company_address_3: third,
    company_address_4: fourth,
    comp_dissolved_date: company.dissolved_date ?? '',
    nard: company.next_annual_return_date ?? '',
    last_accounts_date: company.last_accounts_date ?? '',
    company_status_date: company.status_date ?? '',
    nace_v2_code: company.nace_v2_code ?? '',
    eircode: company.registered_address.eircode ?? '',
    company_name_eff_date: company.name_effective_date ?? '',
    company_type_eff_date: company.type_effective_date ?? '',
    princ_object_code: company.principal_object_code ?? '',
  }
}
