/** What documents show of the dataset: its status texts, and a company for the examples, which a lookup finds. */
import type { ExampleCompany } from '../operation/operation.ts'
import { showStatuses } from '../operation/statuses.ts'
import type { Dataset } from '../../store/dataset/catalog.ts'
import { dateOfSource } from '../../store/dataset/source.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_DAY } from '../../store/dataset/synthetic.ts'
import { cachedNameIndex, ifReadable } from './registers.ts'

/** Bounds the time of the first request of a document, which waits for these reads. */
const ENTRIES_READ_MAX = 1_000

interface ShownDataset {
  /** The synthetic company on testnet. On mainnet a company of the dataset, with a day on which the register had it. */
  exampleCompany: ExampleCompany | undefined
  /** Empty without a dataset. */
  statuses: string
}

/** Read once for each snapshot, because anyone can request documents. Empty for what cannot be read. */
export function openShownDataset(mode: 'mainnet' | 'testnet', current: () => Dataset | undefined): () => ShownDataset {
  const synthetic =
    mode === 'testnet' ? { company_number: SYNTHETIC_COMPANY.company_number, date: SYNTHETIC_DAY } : undefined
  let last: { dataset: Dataset; shown: ShownDataset } | undefined
  return () => {
    const dataset = current()
    if (!dataset) return { exampleCompany: synthetic, statuses: '' }
    if (last?.dataset.snapshot !== dataset.snapshot) {
      const ofSynthetic = synthetic ? [SYNTHETIC_COMPANY.status] : []
      const statuses = () => showStatuses([...cachedNameIndex(dataset.snapshot).statuses, ...ofSynthetic])
      const exampleCompany = synthetic ?? ifReadable(() => findExample(dataset))
      last = { dataset, shown: { exampleCompany, statuses: ifReadable(statuses) ?? '' } }
    }
    return last.shown
  }
}

/** The first company. */
function findExample({ snapshot, source }: Dataset): ExampleCompany | undefined {
  let read = 0
  for (const [company_number, entry] of snapshot.entries()) {
    if (entry !== 'quarantined') return { company_number, date: dateOfSource(source) }
    if ((read += 1) === ENTRIES_READ_MAX) return undefined
  }
  return undefined
}
