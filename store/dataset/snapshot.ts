/** A read-only view of one snapshot: the companies of one retrieval of the register. */
import * as z from 'zod'
import { digestSchema } from '../../base/digest.ts'
import { decodeEntry } from './company-entry.ts'
import type { SnapshotEntry } from './company.ts'
import { COMPANIES_DATABASE, companyKey, companyNumberOf, INFO_KEY } from '../files/layout.ts'
import { checkHead, openEnvironment, orStoreError, startAfter, StoreError } from '../files/environment.ts'

const count = z.int().nonnegative()

/** The result of an import. Equal on every machine, except for the time. */
export const snapshotInfoSchema = z.strictObject({
  snapshot_id: digestSchema,
  /** The version of the normalisation. Another version can give other records for the same archive. */
  normalisation: z.string(),
  imported_at: z.iso.datetime(),
  row_count: count,
  company_count: count,
  quarantined_company_count: count,
  rejected_row_count: count,
  /** By reason, the number of rejected, repeated and contradicting rows, and of values set to null or cleaned. */
  findings: z.record(z.string(), count),
})

export type SnapshotInfo = z.infer<typeof snapshotInfoSchema>

export type Snapshot = ReturnType<typeof openSnapshot>

/**
 * Throws a {@link StoreError} if the folder is missing or has no complete snapshot; so do reads of a damaged record.
 */
export function openSnapshot(folder: string) {
  const environment = openEnvironment({ folder, kind: 'snapshot', readOnly: true })
  const checked = snapshotInfoSchema.safeParse(environment.get(INFO_KEY))
  if (!checked.success) {
    environment.close().catch(() => undefined)
    throw new StoreError(`${folder}: is not a complete snapshot`, { cause: checked.error })
  }
  const damaged = `${folder}: has a damaged record`
  const companies = orStoreError(damaged, () =>
    environment.openDB<Buffer, string>({ name: COMPANIES_DATABASE, encoding: 'binary' }),
  )
  let holds = 0
  let release = () => {}
  return {
    info: checked.data,
    folder,
    find(companyNumber: string): SnapshotEntry | undefined {
      checkHead(folder)
      return orStoreError(damaged, () => {
        const bytes = companies.getBinary(companyKey(companyNumber))
        return bytes && decodeEntry(companyNumber, bytes)
      })
    },
    /** All entries in the order of `compareCompanyNumbers`. */
    *entries(): Iterable<[companyNumber: string, entry: SnapshotEntry]> {
      checkHead(folder)
      for (const { key, value } of companies.getRange()) {
        const number = companyNumberOf(key)
        yield [number, orStoreError(damaged, () => decodeEntry(number, value))]
      }
    },
    /** Runs work that reads in several steps. `close` waits for it. */
    async hold<T>(work: () => Promise<T>): Promise<T> {
      holds += 1
      try {
        return await work()
      } finally {
        holds -= 1
        if (holds === 0) release()
      }
    },
    async close(): Promise<void> {
      if (holds > 0) await new Promise<void>((resolve) => (release = resolve))
      await environment.close()
    },
  }
}

export interface StoredEntry {
  key: string
  value: Buffer
}

/** Entries between two openings of an environment. Its pages in memory are released when it is closed. */
export const REOPEN_ENTRIES = 100_000

/** The entries of a snapshot without decoding them, by their keys (store/files/layout.ts), in the order of the keys. */
export function* storedEntries(folder: string): Generator<StoredEntry, undefined, undefined> {
  let last: string | undefined
  for (let read = REOPEN_ENTRIES; read === REOPEN_ENTRIES;) {
    read = 0
    const environment = openEnvironment({ folder, kind: 'snapshot', readOnly: true })
    try {
      const companies = environment.openDB<Buffer, string>({ name: COMPANIES_DATABASE, encoding: 'binary' })
      for (const entry of companies.getRange({ ...startAfter(last), limit: REOPEN_ENTRIES })) {
        yield entry
        last = entry.key
        read += 1
      }
    } finally {
      // Closes at once, because nothing is written.
      void environment.close()
    }
  }
}
