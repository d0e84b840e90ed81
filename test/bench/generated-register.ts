/** Generated registers for the benchmarks, imported by the product's own import in a process of its own. */
import { join } from 'node:path'
import { generateRegister } from '../../agent/sandbox/generate-register.ts'
import { openCatalog } from '../../store/dataset/catalog.ts'
import type { Company } from '../../store/dataset/company.ts'
import type { Snapshot } from '../../store/dataset/snapshot.ts'
import { startChild } from '../support/child.ts'
import { signPayment } from './load/sign.ts'
import type { Corpus } from './load/workloads.ts'

const CORPUS_COMPANIES = 300

interface GeneratedRegister {
  rows: number
  seed: number
  path: string
}

/** Writes an archive. The same rows and seed give the same bytes. */
export async function generateArchive({ rows, seed, path }: GeneratedRegister): Promise<void> {
  await generateRegister({ rows, seed, out: path })
}

interface ImportCost {
  rows: number
  seconds: number
  cpuSeconds: number
  /** Peak resident memory in MiB. */
  memory: number
}

/** Runs `run-import` in a process of its own, so that its memory and CPU time are its own. */
export async function runImport(kind: string, path: string, directory: string): Promise<ImportCost> {
  const child = startChild('test/programs/run-import.js', [kind, path, directory], {})
  if ((await child.ended) !== 0) throw new Error(child.stderr())
  const read = (name: string) => Number(child.said.get(name))
  return { rows: read('rows'), seconds: read('seconds'), cpuSeconds: read('cpu'), memory: read('memory') }
}

export interface ImportedRegister {
  archive: string
  dataDirectory: string
  cost: ImportCost
}

/** Generates and imports a register. */
export async function makeRegister(directory: string, rows: number): Promise<ImportedRegister> {
  const [archive, dataDirectory] = [join(directory, `${rows}.zip`), join(directory, `imported-${rows}`)]
  await generateArchive({ rows, seed: 1, path: archive })
  return { archive, dataDirectory, cost: await runImport('import', archive, dataDirectory) }
}

/** Makes each register on first use. */
export function sharedRegisters(directory: string): (rows: number) => Promise<ImportedRegister> {
  const made = new Map<number, Promise<ImportedRegister>>()
  return (rows) => {
    const register = made.get(rows) ?? makeRegister(directory, rows)
    made.set(rows, register)
    return register
  }
}

export function* readableCompanies(snapshot: Snapshot): Generator<Company> {
  for (const [, entry] of snapshot.entries()) if (entry !== 'quarantined') yield entry
}

/** Company numbers and names of the imported register, evenly spread over it. */
export async function readCorpus(dataDirectory: string): Promise<Corpus> {
  const catalog = openCatalog(dataDirectory)
  try {
    const snapshot = catalog.current()?.snapshot
    if (!snapshot) throw new Error(`${dataDirectory} has no imported register`)
    const companies = [...readableCompanies(snapshot)]
    const step = Math.max(1, Math.floor(companies.length / CORPUS_COMPANIES))
    const chosen = companies.filter((_, index) => index % step === 0).slice(0, CORPUS_COMPANIES)
    const names = chosen.map(({ legal_name }) => legal_name).filter((name) => name.length > 4)
    return {
      companyNumbers: chosen.map(({ company_number }) => company_number),
      names,
      searchTexts: names.map(toSearchText),
      replayed: signPayment(),
    }
  } finally {
    await catalog.close()
  }
}

function toSearchText(name: string, index: number): string {
  const [first = name] = name.split(' ')
  const variants = [name, name.slice(0, 3) + name.slice(4), first.length > 2 ? first : name]
  return variants[index % variants.length] as string
}
