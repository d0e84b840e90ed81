/** Tests of every rule of the normalisation, with the irregularities of the real register. */
import { expect } from 'chai'
import fc from 'fast-check'
import { companySchema, type Company } from '../../../store/dataset/company.ts'
import { normalise } from '../../../store/import/normalise.ts'
import { COLUMNS, type RegisterRow } from '../../../store/import/rows.ts'
import { registerRow } from '../../support/register.ts'
import { allOfUnicode, hiddenIn } from '../../support/unicode.ts'

function normalised(change: Partial<RegisterRow>) {
  const findings: string[] = []
  return { result: normalise(registerRow(change), (finding) => findings.push(finding)), findings }
}

/** Normalises a row that must not be rejected. */
function company(change: Partial<RegisterRow>): Company & { findings: string[] } {
  const { result, findings } = normalised(change)
  if (result.kind !== 'company') throw new Error(`rejected: ${result.reason}`)
  return { ...result.company, findings }
}

const DATES: [column: keyof RegisterRow, field: keyof Company][] = [
  ['company_reg_date', 'registered_date'],
  ['comp_dissolved_date', 'dissolved_date'],
  ['last_ar_date', 'last_annual_return_date'],
  ['nard', 'next_annual_return_date'],
  ['last_accounts_date', 'last_accounts_date'],
  ['company_status_date', 'status_date'],
  ['company_name_eff_date', 'name_effective_date'],
  ['company_type_eff_date', 'type_effective_date'],
]

describe('a row of the register', () => {
  it('[2.1] becomes a company with every column in its field', () => {
    expect(company({})).to.deep.equal({
      company_number: '73848',
      legal_name: 'PLAIN FIXTURE LIMITED',
      status: 'Normal',
      status_code: '1151',
      company_type: 'LTD - Private Company Limited by Shares',
      company_type_code: '1153',
      nace_v2_code: '6420',
      principal_object_code: '64.20',
      registered_date: '1979-12-03',
      dissolved_date: '2026-01-02',
      last_annual_return_date: '2025-09-30',
      next_annual_return_date: '2026-09-30',
      last_accounts_date: '2024-12-31',
      status_date: '2020-03-04',
      name_effective_date: '1980-01-01',
      type_effective_date: '2015-06-01',
      registered_address: { lines: ['1 FIXTURE STREET', 'FIXTURETOWN', 'CORK', 'Ireland'], eircode: 'T12 AB34' },
      findings: [],
    })
  })

  it('becomes a valid company or is rejected, whatever its content', () => {
    const anyDate = fc
      .tuple(fc.nat(9999), fc.nat(13), fc.nat(32))
      .map(
        ([year, month, day]) =>
          `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`,
      )
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), anyDate, fc.stringMatching(/^[0-9]{1,21}$/))
    const anyRow = fc.record(Object.fromEntries(COLUMNS.map((column) => [column, value]))) as fc.Arbitrary<RegisterRow>
    fc.assert(
      fc.property(anyRow, fc.boolean(), (row, isNumbered) => {
        const { result } = normalised(
          isNumbered ? { ...row, company_num: '1', company_name: `A${row.company_name}` } : row,
        )
        if (result.kind === 'company') companySchema.parse(result.company)
      }),
    )
  })
})

describe('a company number', () => {
  it('[11.3] has 1 to 20 digits, keeps leading zeros and loses spaces around it', () => {
    for (const number of ['0', '00', '081615', '73848', '9'.repeat(20)]) {
      expect(company({ company_num: ` ${number} ` }).company_number).to.equal(number)
    }
  })

  for (const [number, reason] of [
    ['', 'no_company_number'],
    ['  ', 'no_company_number'],
    ['9'.repeat(21), 'malformed_company_number'],
    ['73848.0', 'malformed_company_number'],
    ['-1', 'malformed_company_number'],
    ['1 2', 'malformed_company_number'],
    ['73848/C', 'malformed_company_number'],
    ['٣', 'malformed_company_number'],
    ['1\n', undefined],
  ] as const) {
    it(`[11.3] is ${reason ? 'rejected' : 'accepted'} as ${JSON.stringify(number)}`, () => {
      const { result } = normalised({ company_num: number })
      expect(result.kind === 'rejected' ? result.reason : undefined).to.equal(reason)
    })
  }
})

const PUNCTUATION = `Ó Fixture's & Sons (€) "No. 1" / + @ ! _ : ? ; ’ ********`

describe('a text of the register', () => {
  const name = (company_name: string) => {
    const { legal_name, findings } = company({ company_name })
    return [legal_name, ...findings]
  }

  it('[11.3] is rejected as a name without visible characters', () => {
    for (const company_name of ['', '   ', '\u200B', ' \u0000\uFEFF ']) {
      expect(normalised({ company_name }).result).to.deep.equal({ kind: 'rejected', reason: 'no_company_name' })
    }
  })

  const TEXTS: [what: string, text: string, expected: string, ...findings: string[]][] = [
    ['has single spaces inside and none around it', ' A\t\r\nB\u00A0\u2003\u3000C\u2028D\v', 'A B C D'],
    ['keeps its case, punctuation and accents', PUNCTUATION, PUNCTUATION],
    ['is composed (NFC)', 'TU\u0301SU\u0301R', 'TÚSÚR'],
    ['is composed after hidden characters are removed', 'U\u200B\u0301', 'Ú', 'hidden_characters_removed'],
    ['keeps an emoji without its variation selector', '\u2764\uFE0F B', '\u2764 B', 'hidden_characters_removed'],
    ['keeps U+FFFD for invalid UTF-8 and counts it', 'A\uFFFDB', 'A\uFFFDB', 'invalid_utf8_replaced'],
    ...['\u0000', '\u200B', '\uFEFF', '\u202E', '\u{E0041}', '\uFE0F', '\u115F', '\uFFFF'].map(
      (hidden): (typeof TEXTS)[number] => [
        `loses ${escape(hidden)} and counts it`,
        `${hidden}RY${hidden}AN ${hidden} AIR${hidden}`,
        'RYAN AIR',
        'hidden_characters_removed',
      ],
    ),
  ]
  for (const [what, text, ...expected] of TEXTS) {
    it(`[11.3] ${what}`, () => {
      expect(name(text)).to.deep.equal(expected)
    })
  }

  it('[11.3] contains no hidden character of Unicode', () => {
    for (const text of allOfUnicode(64)) {
      const { company_type, status, legal_name, registered_address, findings } = company({
        company_name: `A${text}`,
        company_status: text,
        company_type: text,
        company_address_1: text,
      })
      const texts = [legal_name, status ?? '', company_type ?? '', ...registered_address.lines].join('')
      expect(hiddenIn(texts)).to.deep.equal([])
      // Some control characters are white space, which is not counted.
      const whiteSpace = /^[^\S\uFEFF]$/
      const isCounted = hiddenIn(text).some((character) => !whiteSpace.test(character))
      expect(findings.includes('hidden_characters_removed'), escape(text)).to.equal(isCounted)
    }
  })
})

describe('an address of the register', () => {
  const lines = (...four: string[]) => {
    const [one = '', two = '', three = '', last = ''] = four
    const address = { company_address_1: one, company_address_2: two, company_address_3: three }
    return company({ ...address, company_address_4: last }).registered_address.lines
  }

  it('loses every placeholder, also inside a line', () => {
    const placeholder = '********NO ADDRESS DETAILS*******'
    expect(lines(placeholder)).to.deep.equal([])
    expect(lines(`${placeholder}, ${placeholder}`, placeholder)).to.deep.equal([])
    expect(lines(`UNIT 1 ${placeholder}`, '', '', `${placeholder}, Ireland`)).to.deep.equal(['UNIT 1', 'Ireland'])
    expect(lines('UNIT 2 ****NO\u200B ADDRESS  DETAILS****')).to.deep.equal(['UNIT 2'])
    expect(lines('NO ADDRESS DETAILS ROAD', '5* HOTEL')).to.deep.equal(['NO ADDRESS DETAILS ROAD', '5* HOTEL'])
  })

  it('has no empty lines and no commas at the ends of lines', () => {
    expect(lines('1 STREET', '', ' , ', 'Ireland')).to.deep.equal(['1 STREET', 'Ireland'])
    expect(lines(', Ireland', 'DUBLIN 7, DUBLIN,', 'A,, B')).to.deep.equal(['Ireland', 'DUBLIN 7, DUBLIN', 'A,, B'])
  })
})

describe('a date of the register', () => {
  for (const [column, field] of DATES) {
    it(`[11.3] in ${column} is ${field}; if it is malformed, null and counted`, () => {
      expect(company({ [column]: ' 2015-06-01 ' })[field]).to.equal('2015-06-01')
      expect(company({ [column]: '' })).to.deep.include({ [field]: null, findings: [] })
      expect(company({ [column]: '2009-02-30' })).to.deep.include({ [field]: null, findings: ['date_malformed'] })
      expect(company({ [column]: '1901-01-01' })).to.deep.include({ [field]: null, findings: ['date_sentinel'] })
    })
  }

  it('is null and counted if it is malformed, or a placeholder with a time', () => {
    const malformed = '2023-02-29 1900-02-29 2015-13-01 2015-00-10 2015-6-1 01/06/2015 20150601 x 2015-06-01T12:30:00'
    // The `Date` of JavaScript reads these as days in 2001 and 2012.
    const readByDate = '0001-13-13 0012-31-31'
    for (const date of [...malformed.split(' '), ...readByDate.split(' ')])
      expect(company({ nard: date }), date).to.deep.include({
        next_annual_return_date: null,
        findings: ['date_malformed'],
      })
    const sentinel = company({ nard: '0001-01-01T00:00:00' })
    expect(sentinel).to.deep.include({ next_annual_return_date: null, findings: ['date_sentinel'] })
  })
})

describe('a code of the register', () => {
  for (const [column, field] of [
    ['company_status_code', 'status_code'],
    ['company_type_code', 'company_type_code'],
    ['princ_object_code', 'principal_object_code'],
  ] as const) {
    it(`[11.3] in ${column} is ${field} as delivered; if it is malformed, null and counted`, () => {
      for (const code of ['1', '1151', '00012', '24.41', '99999999', '1.1234']) {
        expect(company({ [column]: ` ${code} ` })).to.deep.include({ [field]: code, findings: [] })
      }
      expect(company({ [column]: ' ' })).to.deep.include({ [field]: null, findings: [] })
      for (const code of ['x', '123456789', '1.12345', '.5', '1.', '-1', '1e3']) {
        expect(company({ [column]: code })).to.deep.include({ [field]: null, findings: ['code_malformed'] })
      }
    })
  }

  it('of NACE is padded with leading zeros', () => {
    const padded = { '3101.0': '3101', '150.0': '0150', '16.0': '0016', '0150': '0150', ' 6420 ': '6420' }
    for (const [text, code] of Object.entries(padded)) {
      expect(company({ nace_v2_code: text })).to.deep.include({ nace_v2_code: code, findings: [] })
    }
    expect(company({ nace_v2_code: '' })).to.deep.include({ nace_v2_code: null, findings: [] })
  })

  it('of NACE is null and counted in any other form', () => {
    for (const text of ['31010', '3101.5', '3101.00', 'A', '31.01', '-1.0', 'nan']) {
      expect(company({ nace_v2_code: text })).to.deep.include({ nace_v2_code: null, findings: ['nace_malformed'] })
    }
  })
})

describe('an Eircode of the register', () => {
  const eircode = (text: string) => {
    const { registered_address, findings } = company({ eircode: text })
    return [registered_address.eircode, ...findings]
  }

  it('is written with a space after the routing key', () => {
    for (const text of ['D02 X285', 'D02X285', ' d02x285 ', 'D02-X285', 'D02  X28 5']) {
      expect(eircode(text), text).to.deep.equal(['D02 X285'])
    }
    expect(eircode('D6WXY00')).to.deep.equal(['D6W XY00'])
    expect(eircode('')).to.deep.equal([null])
  })

  it('is null and counted in any other form; typing errors are not corrected', () => {
    const malformed = '11/00000/,/DO4A9K8/D02X28/D02X2855/D0WX285/A1WX285/D02 X28É/1234567'
    for (const text of malformed.split('/')) {
      expect(eircode(text), text).to.deep.equal([null, 'eircode_malformed'])
    }
  })
})
