/** A read-only view of one snapshot: the companies of one retrieval of the register. */
import { z } from 'zod'
import { decodeEntry, type Entry } from './company.ts'
import { COMPANIES_DATABASE, companyKey, companyNumberOf, INFO_KEY } from './layout.ts'
import { openEnvironment, StoreError } from './open.ts'

const count = z.int().nonnegative()

/** What is known of a snapshot from its import alone: the same on every machine but for the time. */
export const snapshotInfoSchema = z.strictObject({
  snapshot_id: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  /** The rules the rows were read by; other rules may make other records of the same archive. */
  normalisation: z.string(),
  imported_at: z.iso.datetime(),
  row_count: count,
  company_count: count,
  quarantined_company_count: count,
  rejected_row_count: count,
  /** Rows left out, and values set to null or cleaned, by reason. */
  findings: z.record(z.string(), count),
})

export type SnapshotInfo = z.infer<typeof snapshotInfoSchema>

export interface Snapshot {
  readonly info: SnapshotInfo
  /** Where it lies; its name index is there too (store/index). */
  readonly folder: string
  /** The entry under exactly this number (leading zeros count), or undefined. */
  find(companyNumber: string): Entry | undefined
  /** All entries in the order of their numbers: shorter ones first, then byte by byte. */
  entries(): Iterable<[companyNumber: string, entry: Entry]>
  close(): Promise<void>
}

export function openSnapshot(folder: string): Snapshot {
  const environment = openEnvironment({ folder, kind: 'snapshot', readOnly: true })
  const checked = snapshotInfoSchema.safeParse(environment.get(INFO_KEY))
  if (!checked.success) {
    environment.close().catch(() => undefined)
    throw new StoreError(`${folder}: is not a complete snapshot`, { cause: checked.error })
  }
  const companies = environment.openDB<Buffer, string>({ name: COMPANIES_DATABASE, encoding: 'binary' })
  return {
    info: checked.data,
    folder,
    find(companyNumber) {
      const bytes = companies.getBinary(companyKey(companyNumber))
      return bytes && decodeEntry(companyNumber, bytes)
    },
    *entries() {
      for (const { key, value } of companies.getRange()) {
        const number = companyNumberOf(key)
        yield [number, decodeEntry(number, value)]
      }
    },
    close: () => environment.close(),
  }
}
