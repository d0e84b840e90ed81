/**
 * The register of a benchmark that searches: an imported one, or one made up, imported by the product's own functions into
 * a folder of its own. Some companies can be taken out first, so that they can be asked for in vain.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { createWriteStream } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { generateCommand } from '../../agent/sandbox/generate-command.ts'
import type { Shelf } from '../../agent/skills/skill.ts'
import { openCatalog, type Catalog } from '../../store/catalog.ts'
import type { Company } from '../../store/company.ts'
import { importDataset } from '../../store/import/run.ts'
import type { Row } from '../../store/import/rows.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import { SYNTHETIC } from '../../store/source.ts'
import { PROCESSES } from '../support/fixtures.ts'
import { csvLine, HEADER } from '../support/register.ts'
import { listed, Register, type Listed } from './quality/register.ts'
import { shuffled } from './quality/sample.ts'

const REMOVAL_SEED_STEP = 104_729

interface Wanted {
  /** A DATA_DIR with an imported snapshot; without one, `rows` are made up. */
  data: string | undefined
  rows: number
  seed: number
  /** How many companies are taken out. */
  removals: number
}

export interface BenchRegister {
  /** What it is, for the heading of a table. */
  description: string
  snapshotId: string
  register: Register
  removed: readonly Listed[]
  shelf: Shelf
  close(): Promise<void>
}

export async function openBenchRegister({ data, rows, seed, removals }: Wanted): Promise<BenchRegister> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-register-'))
  const discard = () => rm(directory, { recursive: true })
  try {
    const original = openCatalog(data ?? (await generated(directory, { rows, seed })))
    const whole = snapshotOf(original)
    const companies = [...live(whole)].map(listed)
    const removed = shuffled(companies, seed + REMOVAL_SEED_STEP).slice(0, removals)
    const gone = new Set(removed.map(({ number }) => number))
    const path = join(directory, 'rest.csv')
    await pipeline(Readable.from(csv(whole, gone)), createWriteStream(path))
    const description = `${data === undefined ? 'a made-up register' : 'an imported register'} of ${companies.length}`
    await original.close()
    const catalog = await imported(path, join(directory, 'rest'))
    return {
      description: `${description} companies, ${removals} of them taken out`,
      snapshotId: snapshotOf(catalog).info.snapshot_id,
      register: new Register(companies.filter(({ number }) => !gone.has(number))),
      removed,
      // Without the limit of time that refuses a search: the slowest ones are to be seen.
      shelf: { dataset: catalog.current(), hasSyntheticCompany: false, isTimeUp: () => false },
      async close() {
        await catalog.close()
        await discard()
      },
    }
  } catch (cause) {
    await discard()
    throw cause
  }
}

/** Makes up a register and imports it; answers its DATA_DIR. */
async function generated(directory: string, { rows, seed }: { rows: number; seed: number }): Promise<string> {
  const path = join(directory, 'made-up.zip')
  const args = ['--rows', String(rows), '--seed', String(seed), '--out', path]
  const code = await generateCommand({ args, print: () => undefined, progress: () => undefined })
  if (code !== 0) throw new Error(`A register of ${rows} rows with seed ${seed} can't be made up`)
  const dataDirectory = join(directory, 'made-up')
  await (await imported(path, dataDirectory)).close()
  return dataDirectory
}

async function imported(path: string, dataDirectory: string): Promise<Catalog> {
  const catalog = openCatalog(dataDirectory)
  const now = () => new Date()
  await importDataset({ dataDirectory, catalog, path, publication: SYNTHETIC, processes: PROCESSES, now })
  return catalog
}

function snapshotOf(catalog: Catalog): Snapshot {
  const dataset = catalog.current()
  if (!dataset) throw new Error('Nothing is imported there')
  return dataset.snapshot
}

function* live(snapshot: Snapshot): Generator<Company> {
  for (const [, entry] of snapshot.entries()) if (entry !== 'quarantined') yield entry
}

function* csv(snapshot: Snapshot, gone: ReadonlySet<string>): Generator<string> {
  yield `${HEADER}\n`
  for (const company of live(snapshot)) if (!gone.has(company.company_number)) yield `${csvLine(rowOf(company))}\n`
}

/** The row that a record came from, as far as an import would read it. */
function rowOf(company: Company): Row {
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
