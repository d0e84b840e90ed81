/** The made-up register: the same bytes for the same seed, the shape of the real register, and every kind of bad value. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { SAMPLE_ROWS_MIN, sampleRegister } from '../../../agent/sandbox/sample-register.ts'
import { SAMPLE_DAMAGE, SAMPLE_SHOWCASE } from '../../../agent/sandbox/sample-showcase.ts'
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

function parsed(rows: number, seed: number) {
  const text = [...sampleRegister({ rows, seed })].join('')
  const [header = [], ...records] = parse(text, { bom: true, relax_column_count: true })
  const toRow = (record: readonly string[]) =>
    Object.fromEntries(COLUMNS.map((column, index) => [column, record[index] ?? ''])) as RegisterRow
  return { text, header, records, companies: records.filter(isValid).map(toRow) }
}

describe('the made-up register', () => {
  let sample: ReturnType<typeof parsed>
  let companies: RegisterRow[]
  let names: string[]
  before(() => {
    sample = parsed(ROWS, SEED)
    companies = sample.companies
    names = companies.map((row) => row.company_name)
  })
  const share = (matches: (row: RegisterRow) => boolean) => companies.filter(matches).length / companies.length

  it('has the same bytes for the same seed on every machine, and other bytes for another seed', () => {
    expect(digest(2_000, SEED)).to.equal(SHA256)
    expect(digest(2_000, SEED + 1)).not.to.equal(SHA256)
  })

  it('starts with a byte order mark and the 21 columns', () => {
    expect(sample.text.startsWith('\uFEFFcompany_num,company_name,')).to.equal(true)
    expect(sample.header).to.deep.equal([...COLUMNS])
  })

  it('is generated row by row, and each record ends with CRLF', () => {
    const register = sampleRegister({ rows: 2_000_000_000, seed: SEED })
    for (let count = 0; count < 200; count += 1) expect(register.next().value).to.match(/[^\r\n]\r\n$/)
  })

  for (const [rows, seed] of [
    [SAMPLE_ROWS_MIN, 5],
    [3_000, 6],
    [ROWS, SEED],
  ] as const) {
    it(`has ${rows} rows and the declared damage`, () => {
      const register = parsed(rows, seed)
      expect(register.records).to.have.length(rows)
      expect(register.records.length - register.companies.length).to.equal(SAMPLE_DAMAGE.rejectedRows)
      const versions = new Map(register.companies.map((row) => [JSON.stringify(row), row.company_num]))
      const numbers = [...versions.values()]
      expect(numbers.length - new Set(numbers).size).to.equal(SAMPLE_DAMAGE.quarantinedCompanies)
      const quarantined = SAMPLE_SHOWCASE.quarantinedByName.number
      expect(numbers.filter((number) => number === quarantined)).to.have.length(2)
      const { number, name } = SAMPLE_SHOWCASE.live
      expect(register.companies.find((row) => row.company_num === number)?.company_name).to.equal(name)
    })
  }

  it('refuses fewer rows than an import accepts, and seeds that are not 32-bit integers', () => {
    for (const rows of [0, SAMPLE_ROWS_MIN - 1, 100.5, Number.NaN]) {
      expect(() => sampleRegister({ rows, seed: SEED }).next()).to.throw(RangeError)
    }
    for (const seed of [-1, 0.5, 2 ** 32])
      expect(() => sampleRegister({ rows: SAMPLE_ROWS_MIN, seed }).next()).to.throw(RangeError)
  })

  it('has rows without a number, without a name, with a letter in the number, and with a wrong number of columns', () => {
    const rejected = sample.records.filter((record) => !isValid(record))
    expect(rejected.map((record) => [record[0], record.length])).to.deep.equal([
      ['', 21],
      ['100901', 21],
      ['10O902', 21],
      ['100903', 20],
      ['100904', 22],
    ])
  })

  for (const [what, expected, pattern] of [
    ['limited companies', 0.925, /(?<!PUBLIC |UN)(LIMITED|LTD|TEORANTA)$/],
    ['companies limited by guarantee', 0.026, /(BY GUARANTEE|CLG)$/],
    ['designated activity companies', 0.013, /DESIGNATED ACTIVITY COMPANY$/],
    ['double spaces', 0.147, / {2}/],
    ['apostrophes', 0.017, /'/],
    ['ampersands', 0.053, /&/],
    ['parentheses', 0.018, /\(/],
    ['digits', 0.035, /[0-9]/],
    ['names beyond ASCII', 0.009, /[^\x20-\x7E]/],
  ] as const) {
    it(`has the share of the real register: ${what}`, () => {
      expect(share((row) => pattern.test(row.company_name))).to.be.closeTo(expected, 0.004 + expected / 100)
    })
  }

  it('has the median length of names of the register, and words of which three quarters occur once', () => {
    const lengths = names.map((name) => name.length).toSorted((one, other) => one - other)
    expect(lengths[Math.floor(lengths.length / 2)]).to.be.within(25, 28)
    const uses = new Map<string, number>()
    for (const word of names.flatMap((name) => name.match(/[\p{L}\p{N}']+/gu) ?? [])) {
      uses.set(word, (uses.get(word) ?? 0) + 1)
    }
    expect([...uses.values()].filter((count) => count === 1).length / uses.size).to.be.closeTo(0.76, 0.08)
  })

  it('has equal and similar names', () => {
    const known = new Set(names)
    expect(names.length - known.size).to.be.within(10, 100)
    for (const [what, change] of [
      ['fada', (name: string) => name.normalize('NFD').replace(/\p{M}/gu, '')],
      ['apostrophe', (name: string) => name.replace("'", '')],
      ['double space', (name: string) => name.replace('  ', ' ')],
    ] as const) {
      const similar = names.filter((name) => change(name) !== name && known.has(change(name)))
      expect(similar.length, what).to.be.at.least(5)
    }
  })

  it('has made-up Eircodes of the right form, some without a space, and one shared by many companies', () => {
    const eircodes = companies.map((row) => row.eircode).filter((eircode) => eircode !== '' && eircode !== 'DO7-A7P4')
    for (const eircode of eircodes) expect(eircode).to.match(/^([A-Z]0[0-9]|D77) ?[A-Z0-9]{4}$/)
    expect(eircodes.length / companies.length).to.be.closeTo(0.343, 0.02)
    expect(eircodes.filter((eircode) => !eircode.includes(' ')).length / eircodes.length).to.be.closeTo(0.19, 0.02)
    expect(eircodes.filter((eircode) => eircode === 'D77 A7P4').length).to.be.greaterThan(100)
  })

  it('has a dissolved date for dissolved companies only, never before the registration', () => {
    expect(share((row) => row.company_status.startsWith('Dissolved'))).to.be.closeTo(0.577, 0.02)
    for (const row of companies.filter(({ comp_dissolved_date }) => comp_dissolved_date !== '')) {
      expect(row.company_status).to.match(/^Dissolved/)
      expect(row.comp_dissolved_date >= row.company_reg_date, row.company_num).to.equal(true)
    }
  })
})
