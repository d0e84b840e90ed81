/** The made-up register: the same bytes from the same seed, the real one's shape, and every kind of its dirt. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { SAMPLE_ROWS_MIN, sampleRegister } from '../../../agent/sandbox/sample.ts'
import { NO_ADDRESS } from '../../../agent/sandbox/sample-address.ts'
import { companyAt } from '../../../agent/sandbox/sample-company.ts'
import { SAMPLE_DAMAGE, SAMPLE_SHOWCASE } from '../../../agent/sandbox/sample-showcase.ts'
import { COLUMNS, type Row } from '../../../store/import/rows.ts'

const HEADER =
  'company_num,company_name,company_status_code,company_status,company_type_code,company_type,company_reg_date,' +
  'last_ar_date,company_address_1,company_address_2,company_address_3,company_address_4,comp_dissolved_date,nard,' +
  'last_accounts_date,company_status_date,nace_v2_code,eircode,company_name_eff_date,company_type_eff_date,princ_object_code'
const ROWS = 20_000
const SEED = 1
/** Of 2,000 rows. Kept here so that other bytes, from a new engine or a new line of code, are noticed. */
const SHA256 = 'eca872f317c311543a86361b1698892ebbb57b481e84256af0a34819796cc0b0'

const sha256 = (rows: number, seed: number) => {
  const hash = createHash('sha256')
  for (const text of sampleRegister({ rows, seed })) hash.update(text)
  return hash.digest('hex')
}

const isWhole = (record: readonly string[]) =>
  record.length === COLUMNS.length && /^[0-9]{1,20}$/.test(record[0] ?? '') && record[1]?.trim() !== ''

const toRow = (record: readonly string[]) =>
  Object.fromEntries(COLUMNS.map((column, index) => [column, record[index] ?? ''])) as Row

function parsed(rows: number, seed: number) {
  const text = [...sampleRegister({ rows, seed })].join('')
  const records = parse(text, { bom: true, relax_column_count: true }).slice(1)
  return { text, records, companies: records.filter(isWhole).map(toRow) }
}

/** Rows of each company number, in file order. */
function byNumber(companies: readonly Row[]): Map<string, Row[]> {
  const numbers = new Map<string, Row[]>()
  for (const row of companies) numbers.set(row.company_num, [...(numbers.get(row.company_num) ?? []), row])
  return numbers
}

const near = (fact: string, measure: () => number, expected: number, tolerance: number) =>
  it(`${fact}: ${(expected * 100).toFixed(2)} %`, () => expect(measure()).to.be.closeTo(expected, tolerance))

describe('the made-up register', () => {
  let text: string
  let records: string[][]
  let companies: Row[]
  before(() => {
    ;({ text, records, companies } = parsed(ROWS, SEED))
  })

  const share = (matches: (row: Row) => boolean) => companies.filter(matches).length / companies.length
  const names = (pattern: RegExp) => share(({ company_name }) => pattern.test(company_name))
  const ofNumber = (number: string) => byNumber(companies).get(number) ?? []
  const status = (wanted: string) => share(({ company_status }) => company_status === wanted)
  const eircodesOf = (role: keyof typeof SAMPLE_SHOWCASE) =>
    ofNumber(SAMPLE_SHOWCASE[role].number).map((row) => row.eircode)

  it('has the same bytes for the same seed and others for another', () => {
    expect(sha256(2_000, SEED)).to.equal(sha256(2_000, SEED))
    expect(sha256(2_000, SEED)).not.to.equal(sha256(2_000, SEED + 1))
  })

  it('has the bytes it had on other machines', () => {
    expect(sha256(2_000, SEED)).to.equal(SHA256)
  })

  it('begins with a byte order mark and exactly the 21 columns, and ends every record with CRLF', () => {
    expect(text.startsWith(`\uFEFF${HEADER}\r\n`)).to.equal(true)
    for (const record of sampleRegister({ rows: 200, seed: SEED })) expect(record).to.match(/[^\r\n]\r\n$/)
  })

  for (const rows of [SAMPLE_ROWS_MIN, SAMPLE_ROWS_MIN + 1, 500, ROWS]) {
    it(`has ${rows} rows when ${rows} are asked for`, () => {
      expect(parsed(rows, SEED).records).to.have.length(rows)
    })
  }

  it('refuses fewer rows than the fixed ones, and seeds that are not 32-bit integers', () => {
    for (const rows of [0, SAMPLE_ROWS_MIN - 1, 100.5, Number.NaN]) {
      expect(() => sampleRegister({ rows, seed: SEED }).next()).to.throw(RangeError)
    }
    for (const seed of [-1, 0.5, 2 ** 32]) expect(() => sampleRegister({ rows: 100, seed }).next()).to.throw(RangeError)
    expect(() => sampleRegister({ rows: 100, seed: 2 ** 32 - 1 }).next()).not.to.throw()
  })

  it('is made row by row: a huge one begins at once', () => {
    const register = sampleRegister({ rows: 2_000_000_000, seed: SEED })
    for (let count = 0; count < 100; count += 1) expect(register.next().done).to.equal(false)
  })

  it('holds the companies of the showcase under their numbers and names', () => {
    for (const { number, name } of Object.values(SAMPLE_SHOWCASE)) {
      const visible = ofNumber(number).map((row) => row.company_name.replace(/\p{Cf}/gu, '').trim())
      expect(visible, number).to.include(name)
    }
  })

  it('has the damage it states, in every size and with every seed', () => {
    for (const [rows, seed] of [
      [SAMPLE_ROWS_MIN, 5],
      [3_000, 6],
      [ROWS, SEED],
    ] as const) {
      const sample = parsed(rows, seed)
      expect(sample.records.length - sample.companies.length).to.equal(SAMPLE_DAMAGE.rejectedRows)
      const repeated = [...byNumber(sample.companies).values()].filter((group) => group.length > 1)
      const contradicting = repeated.filter((group) => new Set(group.map((row) => JSON.stringify(row))).size > 1)
      expect(contradicting).to.have.length(SAMPLE_DAMAGE.quarantinedCompanies)
      expect(contradicting.flat()).to.have.length(SAMPLE_DAMAGE.quarantinedRows)
      expect(repeated.length - contradicting.length).to.equal(SAMPLE_DAMAGE.identicalRepeats)
    }
  })

  it('has rows without number, without name, with letters in the number, and with too few and too many columns', () => {
    const rejected = records.filter((record) => !isWhole(record))
    expect(rejected.map((record) => record.length)).to.deep.equal([21, 21, 21, 20, 22])
    expect(rejected.map(([number, name]) => [number, name])).to.deep.include.members([
      ['', 'NUMBERLESS SAMPLE LIMITED'],
      ['100901', ' '],
      ['10O902', 'LETTERED SAMPLE LIMITED'],
    ])
  })

  it('has company numbers of one to six digits without leading zeros', () => {
    for (const { company_num } of companies) expect(company_num).to.match(/^[1-9][0-9]{0,5}$/)
    expect([...new Set(companies.map((row) => row.company_num.length))]).to.have.members([1, 2, 3, 4, 5, 6])
  })

  it('never runs out of numbers, even with more companies than the register has', () => {
    const count = 900_000
    const numberOf = (index: number) => Number(companyAt({ seed: SEED, index, count }).company_num)
    expect(numberOf(0)).to.be.greaterThan(0)
    for (const index of [1, 99_950, 99_951, 500_000, count - 1]) {
      expect(numberOf(index)).to.be.greaterThan(numberOf(index - 1))
    }
    expect(companyAt({ seed: SEED, index: count - 1, count }).company_name_eff_date).to.match(/^2026-01-15$|^$/)
  })

  describe('has the shares of the register', () => {
    const limited = /(?<!PUBLIC |UN)(LIMITED|LTD\.?)\s*$|(?<!PHOIBLÍ |NEAMH)TEORANTA\s*$/
    near('limited companies', () => names(limited), 0.925, 0.01)
    near('CLG', () => names(/(LIMITED\s+BY\s+GUARANTEE|CLG|RÁTHAÍOCHTA)\s*$/), 0.0262, 0.005)
    near('DAC', () => names(/(DESIGNATED\s+ACTIVITY\s+COMPANY|DAC|AINMNITHE)\s*$/), 0.0134, 0.004)
    near('unlimited companies', () => names(/(UNLIMITED\s+COMPANY|UC|NEAMHTHEORANTA)\s*$/), 0.0093, 0.003)
    near('PLC', () => names(/(PUBLIC\s+LIMITED\s+COMPANY|PLC)\s*$/), 0.005, 0.002)
    near('double spaces', () => names(/ {2}/), 0.147, 0.01)
    near('names beyond ASCII', () => names(/[^\x20-\x7E]/), 0.0092, 0.003)
    near('apostrophes', () => names(/'/), 0.0172, 0.004)
    near('ampersands', () => names(/&/), 0.0532, 0.006)
    near('parentheses', () => names(/\(/), 0.018, 0.004)
    near('digits', () => names(/[0-9]/), 0.0378, 0.005)
    near('lower case', () => names(/[a-z]/), 0.0034, 0.0015)
    near('one-word names', () => names(/^\S+\s+(LIMITED|LTD\.?|TEORANTA)\s*$/), 0.14, 0.015)

    near('Normal with its space', () => status('Normal '), 0.4012, 0.012)
    near('Dissolved', () => status('Dissolved'), 0.5526, 0.012)
    near('Dissolved-20 years', () => status('Dissolved-20 years'), 0.0217, 0.006)
    near('Liquidation', () => status('Liquidation'), 0.0113, 0.003)
    near('Strike Off Listed', () => status('Strike Off Listed'), 0.0038, 0.002)

    const EMPTY: Partial<Record<keyof Row, number>> = {
      company_num: 0,
      company_name: 0,
      company_status: 0,
      company_type: 0,
      company_reg_date: 0.02,
      last_ar_date: 0.265,
      company_address_1: 0,
      company_address_2: 0.148,
      company_address_3: 0.494,
      company_address_4: 0.031,
      comp_dissolved_date: 0.428,
      nard: 0.031,
      last_accounts_date: 0.397,
      company_status_date: 0.39,
      nace_v2_code: 0.69,
      eircode: 0.657,
      princ_object_code: 0.437,
    }
    for (const [column, rate] of Object.entries(EMPTY)) {
      near(`empty ${column}`, () => share((row) => row[column as keyof Row] === ''), rate, 0.015)
    }
    near('placeholder addresses', () => share((row) => row.company_address_1 === NO_ADDRESS), 0.0282, 0.005)
    near('leading commas', () => share((row) => row.company_address_4.startsWith(', ')), 0.031, 0.005)
  })

  it("has names of about the register's median length, 25 characters", () => {
    const lengths = companies.map((row) => row.company_name.length).toSorted((one, other) => one - other)
    expect(lengths[Math.floor(lengths.length / 2)]).to.be.within(24, 28)
  })

  it('has words of which three in four occur once, as in the register', () => {
    const uses = new Map<string, number>()
    for (const { company_name } of companies) {
      const words = company_name.match(/[\p{L}\p{N}']+/gu) ?? []
      for (const word of new Set(words)) uses.set(word, (uses.get(word) ?? 0) + 1)
    }
    const once = [...uses.values()].filter((count) => count === 1).length
    expect(once / uses.size).to.be.closeTo(0.76, 0.08)
  })

  it('has the rare signs: plus, quotes, hidden characters, lower case, trailing spaces, a newline, a sentinel date', () => {
    for (const pattern of [
      / \+ /,
      /'S /,
      /O'/,
      /"/,
      /\u200B/,
      /\u200F/,
      /^[^A-Z]+$/,
      /\w $/,
      /,/,
      /^\d/,
      /[A-Z]\.[A-Z]\./,
    ]) {
      expect(names(pattern), String(pattern)).to.be.greaterThan(0)
    }
    expect(share((row) => row.company_address_1.includes('\n'))).to.be.greaterThan(0)
    expect(share((row) => row.company_address_3 === `${NO_ADDRESS} ${NO_ADDRESS}`)).to.be.greaterThan(0)
    expect(share((row) => row.company_reg_date === '1901-01-01')).to.be.greaterThan(0)
  })

  it('has twins of every kind among the made-up companies', () => {
    const kinds: Record<string, (name: string) => string> = {
      same: (name) => name,
      fada: (name) => name.normalize('NFD').replace(/\p{M}/gu, ''),
      apostrophe: (name) => name.replaceAll("'", ''),
      'double space': (name) => name.replaceAll(/ +/g, ' '),
      letter: (name) => `${name.slice(0, 2)}Q${name.slice(3)}`,
    }
    const made = companies.filter(
      (row) => !Object.values(SAMPLE_SHOWCASE).some(({ number }) => number === row.company_num),
    )
    const numbersOf = new Map<string, string[]>()
    for (const { company_name, company_num } of made) {
      numbersOf.set(company_name, [...(numbersOf.get(company_name) ?? []), company_num])
    }
    for (const [kind, change] of Object.entries(kinds)) {
      const twins = made.filter((row) => {
        const name = change(row.company_name)
        return (
          (kind === 'same' || name !== row.company_name) &&
          numbersOf.get(name)?.some((other) => other !== row.company_num)
        )
      })
      expect(twins.length, kind).to.be.at.least(8)
    }
  })

  it('has twins at one Eircode and twins at different ones', () => {
    expect(eircodesOf('sameNameFirst')).to.deep.equal(eircodesOf('sameNameSecond'))
    expect(eircodesOf('sameNameApartFirst')).not.to.deep.equal(eircodesOf('sameNameApartSecond'))
  })

  it('has Eircodes with and without a space, malformed ones, and an agent with many companies', () => {
    const eircodes = companies.map((row) => row.eircode).filter((eircode) => eircode !== '')
    const shareOf = (pattern: RegExp) => eircodes.filter((eircode) => pattern.test(eircode)).length / eircodes.length
    expect(shareOf(/^[A-Z0-9]{3} [A-Z0-9]{4}$/)).to.be.closeTo(0.809, 0.02)
    expect(shareOf(/^[A-Z0-9]{7}$/)).to.be.closeTo(0.19, 0.02)
    expect(shareOf(/^[A-Z][0-9][0-9W] ?[A-Z0-9]{4}$/i)).to.be.within(0.994, 0.9995)
    expect(eircodes.filter((eircode) => eircode.replace(' ', '') === 'D77A7P4').length).to.be.greaterThan(50)
  })

  it('writes NACE codes as numbers that have lost their leading zero', () => {
    const codes = companies.map((row) => row.nace_v2_code).filter((code) => code !== '' && code !== 'none')
    for (const code of codes) expect(code).to.match(/^[1-9][0-9]{2,3}\.0$/)
    expect(codes).to.include('150.0')
    expect(codes.filter((code) => code.length === 5).length / codes.length).to.be.closeTo(0.0345, 0.012)
  })

  it('has dates that agree: a dissolved date only for the dissolved, never before the registration', () => {
    for (const row of companies) {
      if (row.comp_dissolved_date === '' || row.comp_dissolved_date === '1901-01-01') continue
      expect(row.company_status).to.match(/^Dissolved/)
      expect(row.comp_dissolved_date >= row.company_reg_date, row.company_num).to.equal(true)
    }
  })
})
