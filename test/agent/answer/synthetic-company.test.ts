/** The synthetic company of the testnet in all three operations, and what the dataset says about its number. */
import { expect } from 'chai'
import { companyResponseSchema, type Candidate } from '../../../agent/operation/result.ts'
import { answerBody, companyNumbers, openTestRegister, type Row, type TestRegister } from '../../support/companies.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_PROVENANCE } from '../../../store/dataset/synthetic.ts'

const NUMBER = '00000000'
const NAME = 'Synthetic Test Company Limited'

const ROWS: Row[] = [
  { number: NUMBER, name: 'USURPING ROW LIMITED' },
  { number: '100', name: 'KERRIGAN FOODS LIMITED' },
  { number: '101', name: 'SYNTHETIC TESTCOMPANY LIMITED' },
  { number: '102', name: 'SYNTHETIC TEST COMPANY DAC' },
]

describe('the synthetic company', () => {
  let testnet: TestRegister
  let mainnet: TestRegister

  before(async () => {
    testnet = await openTestRegister(ROWS, { hasSyntheticCompany: true })
    mainnet = await openTestRegister(ROWS)
  })

  after(async () => {
    await testnet.close()
    await mainnet.close()
  })

  const lookup = (register: TestRegister) =>
    companyResponseSchema.parse(JSON.parse(answerBody(register.prepare('lookup', { company_number: NUMBER }))))

  it('[1.7] replaces a row of the dataset with its number on testnet', () => {
    expect(lookup(testnet)).to.deep.equal({ company: SYNTHETIC_COMPANY, ...SYNTHETIC_PROVENANCE })
    expect(lookup(mainnet).company.legal_name).to.equal('USURPING ROW LIMITED')
    const row = { name: 'Usurping Row Limited' }
    expect(testnet.resolve(row)).to.include({ status: 'no_match' })
    expect(mainnet.resolve(row)).to.include({ status: 'matched' })
    expect(companyNumbers(testnet.search({ q: row.name, limit: 10 }))).to.deep.equal([])
    expect(companyNumbers(mainnet.search({ q: row.name, limit: 10 }))).to.deep.equal([NUMBER])
    expect(testnet.resolve({ company_number: '100', name: row.name }).status).to.equal('conflicting')
  })

  it('[1.7] resolves by number, with its own name only', () => {
    for (const input of [
      {},
      { name: NAME },
      { name: 'Synthetic Test Company' },
      { name: 'Syntetic Test Company Ltd' },
    ]) {
      const resolved = testnet.resolve({ company_number: NUMBER, ...input })
      expect(resolved).to.deep.include({ status: 'matched', ...SYNTHETIC_PROVENANCE })
      expect(resolved.match?.company).to.deep.equal(SYNTHETIC_COMPANY)
    }
    for (const name of ['Kerrigan Foods Limited', 'Usurping Row Limited', 'Other Test Company Limited']) {
      const { status, candidates } = testnet.resolve({ company_number: NUMBER, name })
      expect({ status, conflicts: candidates.map(({ conflicts }) => conflicts) }).to.deep.equal({
        status: 'conflicting',
        conflicts: [['name_mismatch']],
      })
    }
  })

  it('[1.7] is ranked with companies of the dataset, whose provenance the answer then has', () => {
    const resolved = testnet.resolve({ name: 'Synthetic Test Company' })
    expect(resolved).to.include({ status: 'ambiguous', match: null })
    expect(companyNumbers(resolved)).to.deep.equal(['102', NUMBER])
    expect(resolved.snapshot_id).to.equal(testnet.snapshot.info.snapshot_id)
  })

  it('[12.4] has a name that contradicts the number of another company', () => {
    const resolve = (register: TestRegister) => register.resolve({ company_number: '101', name: NAME })
    expect(resolve(testnet).candidates[0]?.conflicts).to.deep.equal(['name_mismatch'])
    expect(resolve(mainnet).status).to.equal('matched')
  })

  it('[1.7] is found by a search, in the order of all candidates', () => {
    const found = testnet.search({ q: NAME, limit: 10 })
    expect(companyNumbers(found)[0]).to.equal(NUMBER)
    expect(companyNumbers(found)).to.include.members(['101', '102'])
    expect(found.snapshot_id).to.equal(testnet.snapshot.info.snapshot_id)
    const scores = found.candidates.map(({ score }: Candidate) => score)
    expect(scores).to.deep.equal(scores.toSorted((one, other) => other - one))
    expect(testnet.search({ q: NAME, limit: 1 })).to.deep.include(SYNTHETIC_PROVENANCE)
    expect(companyNumbers(testnet.search({ q: NAME, limit: 10, status: 'normal' }))).to.include(NUMBER)
    expect(companyNumbers(testnet.search({ q: NAME, limit: 10, status: 'Dissolved' }))).to.deep.equal([])
  })
})
