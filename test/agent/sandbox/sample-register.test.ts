/** The made-up register: the same bytes for the same seed, and every kind of bad value. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { SAMPLE_ROWS_MIN, sampleRegister } from '../../../agent/sandbox/sample-register.ts'
import { SAMPLE_DAMAGE, SAMPLE_HISTORY, SAMPLE_SHOWCASE } from '../../../agent/sandbox/sample-showcase.ts'
import { COLUMNS, type RegisterRow } from '../../../store/import/rows.ts'

const ROWS = 20_000
const SEED = 1
/** The digest of 2,000 rows. It detects a change of the bytes by a new engine or new code. */
const SHA256 = '462345e5c30a540387b214b8e69897f976834643b7bf7df0ef3b9fab94953a78'

function digest(rows: number, seed: number): string {
  const hash = createHash('sha256')
  for (const text of sampleRegister({ rows, seed })) hash.update(text)
  return hash.digest('hex')
}

const isValid = (record: readonly string[]) =>
  record.length === COLUMNS.length && /^[0-9]{1,20}$/.test(record[0] ?? '') && record[1]?.trim() !== ''

function parsed() {
  const text = [...sampleRegister({ rows: ROWS, seed: SEED })].join('')
  const [header = [], ...records] = parse(text, { bom: true, relax_column_count: true })
  const toRow = (record: readonly string[]) =>
    Object.fromEntries(COLUMNS.map((column, index) => [column, record[index] ?? ''])) as RegisterRow
  return { text, header, records, companies: records.filter(isValid).map(toRow) }
}

describe('the made-up register', () => {
  let sample: ReturnType<typeof parsed>
  before(() => void (sample = parsed()))

  it('has the same bytes for the same seed on every machine, and other bytes for another seed', () => {
    expect(digest(2_000, SEED)).to.equal(SHA256)
    expect(digest(2_000, SEED + 1)).not.to.equal(SHA256)
  })

  it('had another name, one company less and one more on earlier days', () => {
    const namesOn = (daysAgo: number) => {
      const text = [...sampleRegister({ rows: SAMPLE_ROWS_MIN, seed: SEED, daysAgo })].join('')
      const records = parse(text, { bom: true, relax_column_count: true })
      return new Map(records.map(([number = '', name = '']) => [number, name]))
    }
    const { formerName, added, removed } = SAMPLE_HISTORY
    const shown = [4, 3, 2, 1, 0]
      .map(namesOn)
      .map((names) => [
        names.get(SAMPLE_SHOWCASE.live.number) === formerName.name,
        names.has(added.number),
        names.has(removed.number),
      ])
    expect(shown).to.deep.equal([
      [true, false, true],
      [true, false, true],
      [false, false, true],
      [false, true, true],
      [false, true, false],
    ])
  })

  it('starts with a byte order mark and the 21 columns', () => {
    expect(sample.text.startsWith('\uFEFFcompany_num,company_name,')).to.equal(true)
    expect(sample.header).to.deep.equal([...COLUMNS])
  })

  it('has as many rows as requested, and the declared damage', () => {
    expect(sample.records).to.have.length(ROWS)
    expect(sample.records.length - sample.companies.length).to.equal(SAMPLE_DAMAGE.rejectedRows)
    const versions = new Map(sample.companies.map((row) => [JSON.stringify(row), row.company_num]))
    const numbers = [...versions.values()]
    expect(numbers.length - new Set(numbers).size).to.equal(SAMPLE_DAMAGE.quarantinedCompanies)
    const { number, name } = SAMPLE_SHOWCASE.live
    expect(sample.companies.find((row) => row.company_num === number)?.company_name).to.equal(name)
  })

  it('refuses fewer rows than an import accepts, and seeds that are not 32-bit integers', () => {
    for (const rows of [0, SAMPLE_ROWS_MIN - 1, 100.5, Number.NaN]) {
      expect(() => sampleRegister({ rows, seed: SEED }).next()).to.throw(RangeError)
    }
    for (const seed of [-1, 0.5, 2 ** 32])
      expect(() => sampleRegister({ rows: SAMPLE_ROWS_MIN, seed }).next()).to.throw(RangeError)
  })
})
