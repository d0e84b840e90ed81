/**
 * What documents show of the dataset: its status texts, and the company for the examples, which a lookup finds, with a
 * day on which the register had it.
 */
import { StoreError } from '../../store/files/environment.ts'
import type { ExampleCompany } from '../operation/operation.ts'
import { showStatuses } from '../operation/statuses.ts'
import type { Dataset } from '../../store/dataset/catalog.ts'
import type { Snapshot } from '../../store/dataset/snapshot.ts'
import { dateOfSource } from '../../store/dataset/source.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_DAY } from '../../store/dataset/synthetic.ts'
import { cachedNameIndex } from './registers.ts'

/** Bounds the time of the first request of a document, which waits for these reads. */
const ENTRIES_READ_MAX = 1_000

interface ExampleOptions {
  mode: 'mainnet' | 'testnet'
  current: () => Dataset | undefined
}

/** The synthetic company on testnet. On mainnet a company of the current dataset, and none without a dataset. */
export function exampleCompanies({ mode, current }: ExampleOptions): () => ExampleCompany | undefined {
  if (mode === 'testnet') return () => ({ company_number: SYNTHETIC_COMPANY.company_number, date: SYNTHETIC_DAY })
  // Anyone can request documents, so their example is read once for each snapshot.
  let last: { dataset: Dataset; example: ExampleCompany | undefined } | undefined
  return () => {
    const dataset = current()
    if (!dataset) return undefined
    if (last?.dataset.snapshot !== dataset.snapshot) last = { dataset, example: findExample(dataset) }
    return last.example
  }
}

/** The status texts of the current dataset. None while it cannot be read, because a document must not fail with it. */
export function statusesShown({ mode, current }: ExampleOptions): () => string {
  let last: { snapshot: Snapshot; shown: string } | undefined
  return () => {
    const snapshot = current()?.snapshot
    if (!snapshot) return ''
    if (last?.snapshot !== snapshot) last = { snapshot, shown: findStatuses(snapshot, mode) }
    return last.shown
  }
}

function findStatuses(snapshot: Snapshot, mode: ExampleOptions['mode']): string {
  try {
    const synthetic = mode === 'testnet' ? [SYNTHETIC_COMPANY.status] : []
    return showStatuses([...cachedNameIndex(snapshot).statuses, ...synthetic])
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    return ''
  }
}

/** The first company. A damaged snapshot gives no example, because a document must not fail with it. */
function findExample({ snapshot, source }: Dataset): ExampleCompany | undefined {
  try {
    let read = 0
    for (const [company_number, entry] of snapshot.entries()) {
      if (entry !== 'quarantined') return { company_number, date: dateOfSource(source) }
      if ((read += 1) === ENTRIES_READ_MAX) return undefined
    }
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
  }
  return undefined
}
