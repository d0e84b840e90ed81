/** The choice of the company number for examples, over changes of the dataset. */
import { expect } from 'chai'
import { exampleCompanies } from '../../../agent/skills/example-number.ts'
import type { Dataset } from '../../../store/dataset/catalog.ts'
import type { Company, SnapshotEntry } from '../../../store/dataset/company.ts'
import { StoreError } from '../../../store/files/environment.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_SOURCE } from '../../../store/dataset/synthetic.ts'

const company = (company_number: string, status = 'Normal'): Company => ({
  ...SYNTHETIC_COMPANY,
  company_number,
  status,
})

function snapshotOf(snapshot_id: string, entries: [string, SnapshotEntry][], day = 1): Dataset {
  const byNumber = new Map(entries)
  const snapshot = { info: { snapshot_id }, entries: () => entries, find: (number: string) => byNumber.get(number) }
  const source = { ...SYNTHETIC_SOURCE, source_updated_at: `2026-11-0${day}T23:00:00Z` }
  return { snapshot, source } as unknown as Dataset
}

const live = (number: string): [string, SnapshotEntry] => [number, company(number)]
const dissolved = (number: string): [string, SnapshotEntry] => [number, company(number, 'Dissolved')]
const quarantined = (number: string): [string, SnapshotEntry] => [number, 'quarantined']

describe('[4.4.13] the company of examples', () => {
  let current: Dataset | undefined
  const openExample = () => exampleCompanies({ mode: 'mainnet', current: () => current })
  const open = () => {
    const example = openExample()
    return () => example()?.company_number
  }

  it('is the synthetic company on testnet, whatever the dataset', () => {
    current = snapshotOf('a', [live('7')])
    expect(exampleCompanies({ mode: 'testnet', current: () => current })()).to.deep.equal({
      company_number: '00000000',
      date: '2026-01-01',
    })
  })

  it('is a live company on mainnet, else the first company that is not quarantined', () => {
    current = snapshotOf('a', [quarantined('1'), dissolved('2'), live('3'), live('4')])
    expect(open()()).to.equal('3')
    current = snapshotOf('b', [quarantined('1'), dissolved('2'), dissolved('3')])
    expect(open()()).to.equal('2')
  })

  it('does not exist on mainnet without a dataset or without a company', () => {
    current = undefined
    expect(open()()).to.equal(undefined)
    current = snapshotOf('a', [quarantined('1')])
    expect(open()()).to.equal(undefined)
  })

  it('has the day of the dataset in which it was found', () => {
    current = snapshotOf('a', [live('5')], 3)
    const example = openExample()
    expect(example()).to.deep.equal({ company_number: '5', date: '2026-11-03' })
    current = snapshotOf('b', [live('1'), live('5')], 4)
    expect(example()).to.deep.equal({ company_number: '1', date: '2026-11-04' })
  })

  for (const [count, expected] of [
    [999, 'live'],
    [1000, 'first'],
  ] as const) {
    it(`after ${count} dissolved companies is the ${expected} one`, () => {
      const entries = Array.from({ length: count }, (_, index) => dissolved(String(10_000 + index)))
      current = snapshotOf('a', [...entries, live('99999')])
      expect(open()()).to.equal(expected === 'live' ? '99999' : '10000')
    })
  }

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
