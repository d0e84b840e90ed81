/** Selects the company for the examples in documents: one that a lookup finds, and a day on which the register had it. */
import { StoreError } from '../../store/files/environment.ts'
import type { ExampleCompany } from '../operation/operations.ts'
import type { Dataset } from '../../store/dataset/catalog.ts'
import type { Snapshot } from '../../store/dataset/snapshot.ts'
import { dateOfSource } from '../../store/dataset/source.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_DAY } from '../../store/dataset/synthetic.ts'

/** Nearly every register has a live company among so many. Otherwise the first company is the example. */
const ENTRIES_READ_MAX = 1_000

interface ExampleOptions {
  mode: 'mainnet' | 'testnet'
  current: () => Dataset | undefined
}

/**
 * The synthetic company on testnet. On mainnet a company of the current dataset, and none without a dataset. It
 * stays the same as long as the dataset has it, so that documents and their ETags rarely change.
 */
export function exampleCompanies({ mode, current }: ExampleOptions): () => ExampleCompany | undefined {
  if (mode === 'testnet') return () => ({ company_number: SYNTHETIC_COMPANY.company_number, date: SYNTHETIC_DAY })
  let last: { snapshotId: string; example: ExampleCompany | undefined } | undefined
  return () => {
    const dataset = current()
    if (!dataset) return undefined
    const { snapshot, source } = dataset
    const snapshotId = snapshot.info.snapshot_id
    if (last?.snapshotId !== snapshotId) {
      const previous = last?.example
      const number = selectNumber(snapshot, previous?.company_number)
      const found = number === undefined ? undefined : { company_number: number, date: dateOfSource(source) }
      last = { snapshotId, example: number === previous?.company_number ? previous : found }
    }
    return last.example
  }
}

/** A damaged snapshot gives no example, because a document must not fail with it. */
function selectNumber(snapshot: Snapshot, previous: string | undefined): string | undefined {
  try {
    return previous !== undefined && isCompany(snapshot, previous) ? previous : findNumber(snapshot)
  } catch (cause) {
    if (cause instanceof StoreError) return undefined
    throw cause
  }
}

function isCompany(snapshot: Snapshot, number: string): boolean {
  const entry = snapshot.find(number)
  return entry !== undefined && entry !== 'quarantined'
}

function findNumber(snapshot: Snapshot): string | undefined {
  let first: string | undefined
  let read = 0
  for (const [number, entry] of snapshot.entries()) {
    if (entry !== 'quarantined' && entry.status === SYNTHETIC_COMPANY.status) return number
    if (entry !== 'quarantined') first ??= number
    read += 1
    if (read === ENTRIES_READ_MAX) break
  }
  return first
}
