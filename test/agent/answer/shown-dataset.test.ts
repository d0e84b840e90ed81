/** The choice of the company number for examples, over changes of the dataset. */
import { expect } from 'chai'
import { openShownDataset } from '../../../agent/answer/shown-dataset.ts'
import type { Dataset } from '../../../store/dataset/catalog.ts'
import type { Company, SnapshotEntry } from '../../../store/dataset/company.ts'
import { StoreError } from '../../../store/files/environment.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_PROVENANCE } from '../../../store/dataset/synthetic.ts'
import { openToolList } from '../../../agent/payment/tools.ts'
import { openTestRegister } from '../../support/companies.ts'
import { testTerms } from '../../support/payments.ts'

const company = (company_number: string): Company => ({ ...SYNTHETIC_COMPANY, company_number })

function snapshotOf(snapshot_id: string, entries: [string, SnapshotEntry][], day = 1): Dataset {
  const byNumber = new Map(entries)
  const snapshot = {
    info: { snapshot_id },
    folder: '/does/not/exist',
    entries: () => entries,
    find: (number: string) => byNumber.get(number),
  }
  const source = { ...SYNTHETIC_PROVENANCE.source, source_updated_at: `2026-11-0${day}T23:00:00Z` }
  return { snapshot, source } as unknown as Dataset
}

const live = (number: string): [string, SnapshotEntry] => [number, company(number)]
const quarantined = (number: string): [string, SnapshotEntry] => [number, 'quarantined']

describe('[4.4.13] the company of examples', () => {
  let current: Dataset | undefined
  const openExample = () => {
    const shown = openShownDataset('mainnet', () => current)
    return () => shown().exampleCompany
  }
  const open = () => {
    const example = openExample()
    return () => example()?.company_number
  }

  it('has the date of the dataset that it was found in', () => {
    current = snapshotOf('a', [live('5')], 3)
    const example = openExample()
    expect(example()).to.deep.equal({ company_number: '5', date: '2026-11-03' })
    current = snapshotOf('b', [quarantined('0'), live('1'), live('5')], 4)
    expect(example()).to.deep.equal({ company_number: '1', date: '2026-11-04' })
    // Read once for each snapshot, because anyone can request documents.
    expect(example()).to.equal(example())
  })

  it('does not exist while the snapshot is damaged', () => {
    current = snapshotOf('a', [])
    Object.assign(current.snapshot, {
      entries() {
        throw new StoreError('damaged')
      },
    })
    expect(open()()).to.equal(undefined)
  })
})

describe('[4.2.5] the statuses of documents and tools', () => {
  it('are those of the current dataset, and those of the synthetic company on testnet', async () => {
    const names = ['ALPHA LIMITED', 'BETA LIMITED']
    const rows = names.map((name, at) => ({ number: `${at + 1}`, name, status: ['Ceased', 'Strike Off'][at]! }))
    const register = await openTestRegister(rows)
    try {
      let current = register.context.dataset
      const open = (mode: 'mainnet' | 'testnet') => {
        const shown = openShownDataset(mode, () => current)
        return () => shown().statuses
      }
      expect(open('mainnet')()).to.equal('Ceased, Strike Off')
      expect(open('testnet')()).to.equal('Ceased, Normal, Strike Off')
      const tools = openToolList(testTerms, open('mainnet'))
      const describe = () => {
        const search = tools().find(({ name }) => name === 'search_companies')
        const properties = search?.inputSchema['properties'] as { status: { description: string; enum?: string[] } }
        const { status } = properties
        return status
      }
      expect(describe().description).to.match(/The dataset has: Ceased, Strike Off\.$/)
      expect(describe()).not.to.have.property('enum')
      expect(tools()).to.equal(tools())
      current = undefined
      expect(open('mainnet')()).to.equal('')
      expect(describe().description).not.to.include('The dataset has')
    } finally {
      await register.close()
    }
  })

  it('are none while the name index cannot be read', () => {
    const snapshot = { folder: '/does/not/exist', entries: () => [] }
    const dataset = { snapshot, source: SYNTHETIC_PROVENANCE.source } as unknown as Dataset
    expect(openShownDataset('testnet', () => dataset)().statuses).to.equal('')
  })
})
