/** Checks that the company in the answer to a lookup is the one in the snapshot that the answer names. */
import { join } from 'node:path'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { generateArchive, readableCompanies, runImport } from '../generated-register.ts'
import { lookupPath } from '../load/workloads.ts'
import type { LoadRequest, LoadResponse } from '../load/client.ts'

export interface Register {
  archive: string
  snapshotId: string
  /** Legal names by company number. */
  names: ReadonlyMap<string, string>
}

/** Generates a register and imports it without a service. */
export async function makeRegister(directory: string, options: { rows: number; seed: number }): Promise<Register> {
  const archive = join(directory, `${options.seed}.zip`)
  const dataDirectory = join(directory, `reference ${options.seed}`)
  await generateArchive({ ...options, path: archive })
  await runImport('import', archive, dataDirectory)
  const catalog = new Catalog(dataDirectory)
  const snapshot = catalog.current()?.snapshot
  if (!snapshot) throw new Error('The generated register cannot be imported')
  const names = new Map<string, string>()
  for (const { company_number, legal_name } of readableCompanies(snapshot)) names.set(company_number, legal_name)
  const snapshotId = snapshot.info.snapshot_id
  await catalog.close()
  return { archive, snapshotId, names }
}

export class SnapshotCheck {
  readonly #registers: ReadonlyMap<string, Register>
  readonly #onFault: (fault: string) => void

  constructor(registers: readonly Register[], onFault: (fault: string) => void) {
    this.#registers = new Map(registers.map((register) => [register.snapshotId, register]))
    this.#onFault = onFault
  }

  /** Ignores requests other than lookups over REST. */
  add({ path }: LoadRequest, { body }: LoadResponse): void {
    if (!path.startsWith(lookupPath(''))) return
    const { snapshot_id, company } = JSON.parse(body) as {
      snapshot_id: string
      company: { company_number: string; legal_name: string }
    }
    if (this.#registers.get(snapshot_id)?.names.get(company.company_number) !== company.legal_name)
      this.#onFault(`company ${company.company_number} was sold with data of another snapshot than ${snapshot_id}`)
  }
}
