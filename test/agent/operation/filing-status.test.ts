/** What the record of a company says about its next annual return. */
import { expect } from 'chai'
import { filingStatus } from '../../../agent/operation/filing-status.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'

const status = (change: Partial<typeof SYNTHETIC_COMPANY>, today = '2026-02-01') =>
  filingStatus({ ...SYNTHETIC_COMPANY, ...change }, today)

const accountsOf = (change: Partial<typeof SYNTHETIC_COMPANY>) => {
  const found = status(change)
  return found.kind === 'dated' && found.accounts
}

describe('[15.22] the filing status of a company', () => {
  it('has the next date on record, the days to it or since it, and the 56th day after it', () => {
    expect(status({ next_annual_return_date: '2026-02-11' })).to.deep.include({
      kind: 'dated',
      annual_return_date: '2026-02-11',
      days: 10,
      file_by: '2026-04-08',
    })
    expect(status({ next_annual_return_date: '2026-01-01' })).to.include({ days: -31, file_by: '2026-02-26' })
    // A night of 23 hours in Ireland is a day.
    expect(status({ next_annual_return_date: '2026-03-30' }, '2026-03-28')).to.include({ days: 2 })
  })

  it('is unknown without a date on record, which is not guessed from other dates', () => {
    const change = {
      next_annual_return_date: null,
      last_annual_return_date: '2025-09-30',
      registered_date: '2025-12-01',
    }
    expect(status(change)).to.deep.equal({ kind: 'unknown' })
  })

  it('has no further return once the company is dissolved', () => {
    const change = { next_annual_return_date: '2026-09-30', dissolved_date: '2026-02-01' }
    expect(status(change)).to.deep.equal({ kind: 'dissolved' })
    expect(status(change, '2026-01-31').kind).to.equal('dated')
  })

  const ACCOUNTS: [date: string, accounts: string | null, expected: string][] = [
    ['2026-09-30', '2025-12-30', 'recent'],
    ['2026-09-30', '2025-12-29', 'too_old'],
    // Nine months before 30 November is the last day of February.
    ['2026-11-30', '2026-02-28', 'recent'],
    ['2026-11-30', '2026-02-27', 'too_old'],
    ['2024-11-30', '2024-02-28', 'too_old'],
    ['2026-05-31', '2025-08-31', 'recent'],
    ['2026-09-30', null, 'unknown'],
  ]
  for (const [date, accounts, expected] of ACCOUNTS)
    it(`says ${expected} for a return of ${date} and accounts of ${accounts}`, () => {
      expect(accountsOf({ next_annual_return_date: date, last_accounts_date: accounts })).to.equal(expected)
    })

  it('needs no accounts for a first return, six months after the registration', () => {
    const first = { registered_date: '2025-08-31', next_annual_return_date: '2026-02-28' }
    expect(accountsOf(first)).to.equal('not_needed')
    expect(accountsOf({ ...first, next_annual_return_date: '2026-03-01' })).to.equal('unknown')
    expect(accountsOf({ ...first, last_annual_return_date: '2026-02-28' })).to.equal('unknown')
    expect(accountsOf({ ...first, registered_date: null })).to.equal('unknown')
  })
})
