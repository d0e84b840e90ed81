/** What documents show of the dataset: its status texts, and companies for the examples, which a lookup finds. */
import { SYNTHETIC_EXAMPLE } from '../operation/examples.ts'
import type { ExampleCompany } from '../operation/operation.ts'
import { showStatuses } from '../operation/statuses.ts'
import type { Dataset } from '../../store/dataset/catalog.ts'
import { dateOfSource } from '../../store/dataset/source.ts'
import { isDissolved, type Company } from '../../store/dataset/company.ts'
import { StoreError } from '../../store/files/environment.ts'
import { SYNTHETIC_COMPANY } from '../../store/dataset/synthetic.ts'
import { answerResolve } from './companies.ts'
import { cachedNameIndex, ifReadable } from './registers.ts'

/** Bounds the time of the first request of a document, which waits for these reads. */
const ENTRIES_READ_MAX = 1_000

const EXAMPLES_MAX = 3

interface ShownDataset {
  /** The synthetic company on testnet. On mainnet one of the dataset, which stays as long as the dataset has it. */
  exampleCompany: ExampleCompany | undefined
  /** The first companies. Empty without a dataset. */
  exampleCompanies: readonly Pick<Company, 'company_number' | 'legal_name'>[]
  /** Empty without a dataset. */
  statuses: string
}

/** Read once for each snapshot, because anyone can request documents. Empty for what cannot be read. */
export function openShownDataset(mode: 'mainnet' | 'testnet', current: () => Dataset | undefined): () => ShownDataset {
  const synthetic = mode === 'testnet' ? SYNTHETIC_EXAMPLE : undefined
  let last: { dataset: Dataset; shown: ShownDataset } | undefined
  return () => {
    const dataset = current()
    if (!dataset) return { exampleCompany: synthetic, exampleCompanies: [], statuses: '' }
    if (last?.dataset.snapshot !== dataset.snapshot) {
      const ofSynthetic = synthetic ? [SYNTHETIC_COMPANY.status] : []
      const statuses = () => showStatuses([...cachedNameIndex(dataset.snapshot).statuses, ...ofSynthetic])
      const previous = last?.shown.exampleCompany
      const exampleCompany =
        synthetic ?? ifReadable(() => (isExample(dataset, previous) ? previous : findExample(dataset)))
      const exampleCompanies = ifReadable(() => findFirst(dataset)) ?? []
      last = { dataset, shown: { exampleCompany, exampleCompanies, statuses: ifReadable(statuses) ?? '' } }
    }
    return last.shown
  }
}

/** Only letters, digits and spaces, so that the name is data wherever it is shown. */
const EXAMPLE_NAME = /^[A-Z0-9]+(?: [A-Z0-9]+){1,4}$/

/** Whether its name finds the company alone. The card is signed again when it does not. */
function isExample(dataset: Dataset, company: ExampleCompany | undefined): boolean {
  if (!company) return false
  const { company_number: number, legal_name: name } = company
  const entry = dataset.snapshot.find(number)
  if (entry === undefined || entry === 'quarantined' || entry.legal_name !== name || !EXAMPLE_NAME.test(name))
    return false
  const context = { dataset, journal: noJournal, hasSyntheticCompany: false, now: () => new Date(0) }
  const answered = answerResolve({ name }, context)
  return answered.kind === 'computed' && answered.answer.match?.company.company_number === number
}

function noJournal(): never {
  throw new StoreError('The examples need no journal')
}

function findExample(dataset: Dataset): ExampleCompany | undefined {
  let read = 0
  for (const [company_number, entry] of dataset.snapshot.entries()) {
    if (entry !== 'quarantined') {
      const company = { company_number, legal_name: entry.legal_name, date: dateOfSource(dataset.source) }
      if (!isDissolved(entry) && isExample(dataset, company)) return company
    }
    if ((read += 1) === ENTRIES_READ_MAX) break
  }
  return undefined
}

function findFirst({ snapshot }: Dataset): ShownDataset['exampleCompanies'] {
  const found: Pick<Company, 'company_number' | 'legal_name'>[] = []
  let read = 0
  for (const [company_number, entry] of snapshot.entries()) {
    if (entry !== 'quarantined') found.push({ company_number, legal_name: entry.legal_name })
    if ((read += 1) === ENTRIES_READ_MAX || found.length === EXAMPLES_MAX) break
  }
  return found
}
