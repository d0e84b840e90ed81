/** What documents show of the dataset: its status texts, and companies for the examples, which a lookup finds. */
import type { ExampleCompany } from '../operation/operation.ts'
import { showStatuses } from '../operation/statuses.ts'
import type { Dataset } from '../../store/dataset/catalog.ts'
import { dateOfSource } from '../../store/dataset/source.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_DAY } from '../../store/dataset/synthetic.ts'
import { cachedNameIndex, ifReadable } from './registers.ts'

/** Bounds the time of the first request of a document, which waits for these reads. */
const ENTRIES_READ_MAX = 1_000

const EXAMPLES_MAX = 3

interface ShownDataset {
  /** The synthetic company on testnet. On mainnet a company of the dataset, with a day on which the register had it. */
  exampleCompany: ExampleCompany | undefined
  /** The numbers of the first companies. Empty without a dataset. */
  exampleNumbers: readonly string[]
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
    if (!dataset) return { exampleCompany: synthetic, exampleNumbers: [], statuses: '' }
    if (last?.dataset.snapshot !== dataset.snapshot) {
      const ofSynthetic = synthetic ? [SYNTHETIC_COMPANY.status] : []
      const statuses = () => showStatuses([...cachedNameIndex(dataset.snapshot).statuses, ...ofSynthetic])
      const exampleNumbers = ifReadable(() => findExamples(dataset)) ?? []
      const [company_number] = exampleNumbers
      const found = company_number === undefined ? undefined : { company_number, date: dateOfSource(dataset.source) }
      last = {
        dataset,
        shown: { exampleCompany: synthetic ?? found, exampleNumbers, statuses: ifReadable(statuses) ?? '' },
      }
    }
    return last.shown
  }
}

function findExamples({ snapshot }: Dataset): string[] {
  const found: string[] = []
  let read = 0
  for (const [number, entry] of snapshot.entries()) {
    if (entry !== 'quarantined') found.push(number)
    if ((read += 1) === ENTRIES_READ_MAX || found.length === EXAMPLES_MAX) break
  }
  return found
}
