/** Registers for the benchmarks, imported by the product's own import in a process of its own. */
import { createWriteStream, existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { generateRegister } from '../support/sample/generate.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import type { Company } from '../../store/dataset/company.ts'
import type { Snapshot } from '../../store/dataset/snapshot.ts'
import { openCsv } from '../../store/import/archive.ts'
import { normalise } from '../../store/import/normalise.ts'
import { readRows, type RegisterRow } from '../../store/import/rows.ts'
import { startChild } from '../support/child.ts'
import { noJournal } from '../support/journal.ts'
import { HEADER, toCsvLine } from '../support/register.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { signPayment } from './load/sign.ts'
import type { Corpus } from './load/workloads.ts'
import { ReferenceRegister, toBenchCompany, type BenchCompany } from './quality/register.ts'
import { shuffled } from './quality/sample.ts'

const CORPUS_COMPANIES = 300

/** As the service limits its import. */
const HEAP_MIB = 512

const IMPORT_PROGRAM = 'test/programs/run-import.js'

/**
 * Runs `run-import` in a process of its own, so that its memory and CPU time are its own. `memory`: the peak, in MiB.
 *
 * @param tree that of a former release, built; by default this one
 */
export async function runImport(path: string, directory: string, tree?: string) {
  const program = tree === undefined ? IMPORT_PROGRAM : join(tree, 'dist', IMPORT_PROGRAM)
  const child = startChild(program, ['import', path, directory], { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` })
  if ((await child.ended) !== 0) throw new Error(child.stderr())
  const read = (name: string) => Number(child.said.get(name))
  return { rows: read('rows'), seconds: read('seconds'), cpuSeconds: read('cpu'), memory: read('memory') }
}

export type ImportedRegister = Awaited<ReturnType<typeof makeRegister>>

/** Generates and imports a register. */
export async function makeRegister(directory: string, rows: number, seed = 1) {
  const name = `${rows}-${seed}`
  const [archive, dataDirectory] = [join(directory, `${name}.zip`), join(directory, `imported-${name}`)]
  await generateRegister({ rows, seed, out: archive })
  return { archive, dataDirectory, cost: await runImport(archive, dataDirectory) }
}

/** Makes each register on first use. Later processes with the same directory read it from there. */
export function sharedRegisters(directory: string): (rows: number) => Promise<ImportedRegister> {
  return async (rows) => {
    const file = join(directory, `${rows}.json`)
    if (!existsSync(file)) await writeFile(file, JSON.stringify(await makeRegister(directory, rows)))
    return JSON.parse(await readFile(file, 'utf8')) as ImportedRegister
  }
}

/** The imported register as the skills and as the benchmarks read it. */
export function openNames(dataDirectory: string) {
  const { catalog, dataset, companies } = openCurrent(dataDirectory)
  return {
    register: new ReferenceRegister(companies.map(toBenchCompany)),
    // The clock stands still, so that no slow search is refused.
    context: { dataset, journal: noJournal, hasSyntheticCompany: false, now: () => new Date(0) },
    [Symbol.asyncDispose]: () => catalog.close(),
  }
}

/** Company numbers and names of the imported register, evenly spread over it. */
export async function readCorpus(dataDirectory: string): Promise<Corpus> {
  const { catalog, companies } = openCurrent(dataDirectory)
  await catalog.close()
  const step = Math.max(1, Math.floor(companies.length / CORPUS_COMPANIES))
  const chosen = companies.filter((_, index) => index % step === 0).slice(0, CORPUS_COMPANIES)
  const names = chosen.map(({ legal_name }) => legal_name).filter((name) => name.length > 4)
  return {
    companyNumbers: chosen.map(({ company_number }) => company_number),
    names,
    searchTexts: names.map(toSearchText),
    replayed: signPayment(),
  }
}

function openCurrent(dataDirectory: string) {
  const catalog = new Catalog(dataDirectory)
  const dataset = catalog.current()
  if (!dataset) throw new Error(`${dataDirectory} has no imported register`)
  return { catalog, dataset, companies: readableCompanies(dataset.snapshot) }
}

function readableCompanies(snapshot: Snapshot): Company[] {
  return Array.from(snapshot.entries()).flatMap(([, entry]) => (entry === 'quarantined' ? [] : [entry]))
}

function toSearchText(name: string, index: number): string {
  const [first = name] = name.split(' ')
  const variants = [name, name.slice(0, 3) + name.slice(4), first.length > 2 ? first : name]
  return variants[index % variants.length] as string
}

const REMOVAL_SEED_STEP = 104_729

interface BenchRegisterOptions {
  /** The register as it is published, an archive or a CSV file. Without it, `rows` are made up. */
  dataset: string | undefined
  rows: number
  seed: number
  /** How many companies are removed. */
  removals: number
}

/** Removes some companies first, so that queries for them must find nothing. */
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
