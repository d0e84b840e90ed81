/** What is noticed first of a record, on the day of its file. */
import { expect } from 'chai'
import { noticesOf } from '../../buyer/notices.ts'
import { SYNTHETIC_COMPANY } from '../../store/dataset/synthetic.ts'

const DAY = '2026-03-01'
const LIVE = {
  status: 'Normal',
  status_date: '2020-01-02',
  dissolved_date: null,
  next_annual_return_date: '2026-06-01',
  last_accounts_date: '2025-06-30',
}
const textsOf = (change: Partial<Parameters<typeof noticesOf>[0]>, day = DAY) =>
  noticesOf({ ...SYNTHETIC_COMPANY, ...LIVE, ...change }, day).map(({ kind, text }) => `${kind}: ${text}`)

describe('the notices of a record', () => {
  it('are none for a company that files in time', () => expect(textsOf({})).to.deep.equal([]))

  it('have the return that is overdue from day 57 on, counted to the day of the file', () => {
    const texts = (day: string) => textsOf({ next_annual_return_date: '2026-01-01' }, day)
    expect(texts('2026-02-26')).to.deep.equal([])
    expect(texts('2026-02-27')).to.deep.equal([
      'doubt: Annual return overdue: it was due by 2026-02-26, 1 day before this file',
    ])
    expect(texts('2026-02-28')[0]).to.contain('2 days before')
  })

  it('have accounts from two years on', () => {
    expect(textsOf({ last_accounts_date: '2024-03-02' })).to.deep.equal([])
    expect(textsOf({ last_accounts_date: '2024-03-01' })).to.deep.equal([
      'doubt: Old accounts: the newest are of 2024-03-01, 2 years before this file',
    ])
    expect(textsOf({ last_accounts_date: '2021-02-01' })[0]).to.contain('5 years')
  })

  it('have only the end of a company that is dissolved or in liquidation', () => {
    const old = { next_annual_return_date: '2020-01-01', last_accounts_date: '2015-01-01' }
    for (const [change, text] of [
      [{ status: 'Dissolved', dissolved_date: '2024-05-06' }, 'Dissolved since 2024-05-06'],
      [{ status: 'Normal', dissolved_date: '2024-05-06' }, 'Dissolved since 2024-05-06'],
      [{ status: 'Dissolved PostMerger' }, 'Dissolved PostMerger since 2020-01-02'],
      [{ status: 'Struck Off', status_date: null }, 'Struck Off'],
      [{ status: 'Liquidation' }, 'In liquidation since 2020-01-02'],
    ] as const)
      expect(textsOf({ ...old, ...change })).to.deep.equal([`ended: ${text}`])
  })

  it('have each other status, none of which is taken for harmless', () => {
    for (const [status, text] of [
      ['Strike Off Listed', 'Listed for strike-off since 2020-01-02'],
      ['Examinership', 'Status Examinership since 2020-01-02'],
      ['Liquidation Stayed', 'Status Liquidation Stayed since 2020-01-02'],
      [null, 'The register has no status of this company'],
    ] as const)
      expect(textsOf({ status })).to.deep.equal([`doubt: ${text}`])
  })
})
