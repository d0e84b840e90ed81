/** Selects the company number for the examples in documents: one that a lookup finds. */
import { StoreError } from '../../store/files/environment.ts'
import type { Dataset } from '../../store/dataset/catalog.ts'
import type { Snapshot } from '../../store/dataset/snapshot.ts'
import { SYNTHETIC_COMPANY } from '../../store/dataset/synthetic.ts'

/** Nearly every register has a live company among so many. Otherwise the first company is the example. */
const ENTRIES_READ_MAX = 1_000

interface ExampleNumberOptions {
  mode: 'mainnet' | 'testnet'
  current: () => Dataset | undefined
}

/**
 * The synthetic company on testnet. On mainnet a company of the current dataset, and none without a dataset. The number
 * stays the same as long as the dataset has it, so that documents and their ETags rarely change.
 */
export function exampleNumbers({ mode, current }: ExampleNumberOptions): () => string | undefined {
  if (mode === 'testnet') return () => SYNTHETIC_COMPANY.company_number
  let last: { snapshotId: string; number: string | undefined } | undefined
  return () => {
    const snapshot = current()?.snapshot
    if (!snapshot) return undefined
    const snapshotId = snapshot.info.snapshot_id
    if (last?.snapshotId !== snapshotId) last = { snapshotId, number: selectNumber(snapshot, last?.number) }
    return last.number
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
