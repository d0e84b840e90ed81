/** The choice of the company number for examples, over changes of the dataset. */
import { expect } from 'chai'
import { openShownDataset } from '../../../agent/answer/shown-dataset.ts'
import type { Dataset } from '../../../store/dataset/catalog.ts'
import type { SnapshotEntry } from '../../../store/dataset/company.ts'
import { StoreError } from '../../../store/files/environment.ts'
import { SYNTHETIC_PROVENANCE } from '../../../store/dataset/synthetic.ts'
import { openToolList } from '../../../agent/payment/tools.ts'
import { openTestRegister } from '../../support/companies.ts'
import { testTerms } from '../../support/payments.ts'

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

  it('is the first live one whose name has only letters and digits and finds it alone, and stays', async () => {
    const rows = [
      { number: '1', name: "O'HARA LIMITED" },
      { number: '2', name: 'TWIN LIMITED' },
      { number: '3', name: 'TWIN LIMITED' },
      { number: '4', name: 'GONE TRADING LIMITED', status: 'Dissolved', dissolved: '2020-01-01' },
      { number: '5', name: 'FIVE TRADING LIMITED' },
    ]
    const registers = [
      await openTestRegister(rows),
      await openTestRegister([{ number: '0', name: 'EARLIER TRADING LIMITED' }, ...rows]),
      await openTestRegister([{ number: '0', name: 'EARLIER TRADING LIMITED' }]),
    ]
    const example = openExample()
    const shown = registers.map((register) => {
      current = register.context.dataset
      return example()
    })
    const five = { company_number: '5', legal_name: 'FIVE TRADING LIMITED', date: '2026-01-02' }
    expect(shown[0]).to.deep.equal(five)
    expect(shown[1]).to.equal(shown[0])
    expect(shown[2]).to.include({ company_number: '0' })
    // Read once for each snapshot, because anyone can request documents.
    expect(example()).to.equal(example())
    for (const register of registers) await register.close()
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
