/**
 * Selects the company for the examples in documents: one that a lookup finds, and a day on which the register had it.
 */
import { StoreError } from '../../store/files/environment.ts'
import type { ExampleCompany } from '../operation/operation.ts'
import type { Dataset } from '../../store/dataset/catalog.ts'
import { dateOfSource } from '../../store/dataset/source.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_DAY } from '../../store/dataset/synthetic.ts'

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
