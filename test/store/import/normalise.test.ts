/** A row as a company: every rule of the normalisation, with the dirt that the register is known to hold. */
import { expect } from 'chai'
import fc from 'fast-check'
import { companySchema, type Company } from '../../../store/company.ts'
import { normalise, type Finding } from '../../../store/import/normalise.ts'
import { COLUMNS, type Column, type Row } from '../../../store/import/rows.ts'
import { aRow } from '../../support/register.ts'
import { allOfUnicode, hiddenIn } from '../../support/unicode.ts'

function normalised(change: Partial<Row>) {
  const findings: Finding[] = []
  return { result: normalise(aRow(change), (finding) => findings.push(finding)), findings }
}

/** The company that a row becomes, with what was found on the way. */
function company(change: Partial<Row>): Company & { findings: Finding[] } {
  const { result, findings } = normalised(change)
  if (result.kind !== 'company') throw new Error(`rejected: ${result.reason}`)
  return { ...result.company, findings }
}

const DATES: [column: Column, field: keyof Company][] = [
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
  it('becomes a company, every column in its field', () => {
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

  it('needs no more than a number and a name', () => {
    const empty = Object.fromEntries(COLUMNS.map((column) => [column, ' '])) as Row
    const { registered_address, company_number, legal_name, findings, ...rest } = company({
      ...empty,
      company_num: '1',
      company_name: 'A',
    })
    expect([company_number, legal_name, findings]).to.deep.equal(['1', 'A', []])
    expect(registered_address).to.deep.equal({ lines: [], eircode: null })
    expect(new Set(Object.values(rest))).to.deep.equal(new Set([null]))
  })

  it('always becomes a company that may be sold, or a reason', () => {
    const anyDate = fc
      .tuple(fc.nat(9999), fc.nat(13), fc.nat(32))
      .map(
        ([year, month, day]) =>
          `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`,
      )
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), anyDate, fc.stringMatching(/^[0-9]{1,21}$/))
    const anyRow = fc.record(Object.fromEntries(COLUMNS.map((column) => [column, value]))) as fc.Arbitrary<Row>
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
  it('has 1 to 20 digits, with its leading zeros, and spaces round it are dropped', () => {
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
    it(`${reason ? 'is refused' : 'is taken'} as ${JSON.stringify(number)}`, () => {
      const { result } = normalised({ company_num: number })
      expect(result.kind === 'rejected' ? result.reason : undefined).to.equal(reason)
    })
  }
})

describe('a text of the register', () => {
  const name = (company_name: string) => {
    const { legal_name, findings } = company({ company_name })
    return [legal_name, ...findings]
  }

  it('is refused as a name when nothing of it can be seen', () => {
    for (const company_name of ['', '   ', '\u200B', ' \u0000\uFEFF ']) {
      expect(normalised({ company_name }).result).to.deep.equal({ kind: 'rejected', reason: 'no_company_name' })
    }
  })

  it('has one space where the register has several, and none round it', () => {
    expect(name('ALÉO FASHIONS  LIMITED ')).to.deep.equal(['ALÉO FASHIONS LIMITED'])
    expect(name(' A\t\r\nB\u00A0\u2003\u3000C\u2028D\v')).to.deep.equal(['A B C D'])
    expect(company({ company_status: 'Normal ' }).status).to.equal('Normal')
    expect(company({ company_type: ' LTD  -  x ' }).company_type).to.equal('LTD - x')
  })

  it('keeps its case, punctuation and accents', () => {
    const text = `Ó Fixture's & Sons (€) "No. 1" / + @ ! _ : ? ; ’ ********`
    expect(name(text)).to.deep.equal([text])
  })

  it('is composed (NFC)', () => {
    expect(name('TU\u0301SU\u0301R')).to.deep.equal(['TÚSÚR'])
  })

  for (const [what, hidden] of [
    ['control', '\u0000'],
    ['control', '\u001B'],
    ['control', '\u0085'],
    ['zero-width', '\u200B'],
    ['zero-width', '\u200D'],
    ['zero-width', '\uFEFF'],
    ['zero-width', '\u00AD'],
    ['bidi', '\u202E'],
    ['bidi', '\u2066'],
    ['tag', '\u{E0041}'],
    ['variation selector', '\uFE0F'],
    ['variation selector', '\u{E0100}'],
    ['joiner', '\u034F'],
    ['filler', '\u115F'],
    ['filler', '\u3164'],
    ['filler', '\uFFA0'],
    ['vowel', '\u17B4'],
    ['annotation', '\uFFF9'],
    ['noncharacter', '\uFFFF'],
  ] as const) {
    it(`loses a ${what} character U+${hidden.codePointAt(0)?.toString(16).toUpperCase()}, which is counted`, () => {
      expect(name(`${hidden}RY${hidden}AN ${hidden} AIR${hidden}`)).to.deep.equal([
        'RYAN AIR',
        'hidden_characters_removed',
      ])
    })
  }

  it('composes what a removed character kept apart', () => {
    expect(name('U\u200B\u0301')).to.deep.equal(['Ú', 'hidden_characters_removed'])
  })

  it('keeps an emoji without the selector of its colours', () => {
    expect(name('\u2764\uFE0F BREW \u{1F37A} CO')).to.deep.equal([
      '\u2764 BREW \u{1F37A} CO',
      'hidden_characters_removed',
    ])
  })

  it('holds no hidden character, whatever stands in the file', () => {
    for (const text of allOfUnicode(64)) {
      const { company_type, status, legal_name, registered_address, findings } = company({
        company_name: `A${text}`,
        company_status: text,
        company_type: text,
        company_address_1: text,
      })
      const sold = [legal_name, status ?? '', company_type ?? '', ...registered_address.lines].join('')
      expect(hiddenIn(sold)).to.deep.equal([])
      // White space is what a control may also be.
      const isWhite = /^[^\S\uFEFF]$/
      const isCounted = hiddenIn(text).some((character) => !isWhite.test(character))
      expect(findings.includes('hidden_characters_removed'), escape(text)).to.equal(isCounted)
    }
  })

  it('keeps what could not be decoded visible, and counts it', () => {
    expect(name('A\uFFFDB')).to.deep.equal(['A\uFFFDB', 'invalid_utf8_replaced'])
  })

  it('is not changed by being normalised again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const [once = ''] = name(`A${text}`)
        expect(name(once)[0]).to.equal(once)
      }),
    )
  })
})

describe('an address of the register', () => {
  const lines = (...four: [string, string?, string?, string?]) =>
    company({
      company_address_1: four[0],
      company_address_2: four[1] ?? '',
      company_address_3: four[2] ?? '',
      company_address_4: four[3] ?? '',
    }).registered_address.lines

  it('has no line for what is empty', () => {
    expect(lines('1 STREET', '', ' , ', 'Ireland')).to.deep.equal(['1 STREET', 'Ireland'])
  })

  it('has none for the placeholder, also inside a line and twice', () => {
    const placeholder = '********NO ADDRESS DETAILS*******'
    expect(lines(placeholder)).to.deep.equal([])
    expect(lines(`${placeholder}, ${placeholder}`, placeholder)).to.deep.equal([])
    expect(lines(`UNIT 1 ${placeholder}`, '', '', `${placeholder}, Ireland`)).to.deep.equal(['UNIT 1', 'Ireland'])
    expect(lines('UNIT 2 ****NO\u200B ADDRESS  DETAILS****')).to.deep.equal(['UNIT 2'])
    expect(lines('NO ADDRESS DETAILS ROAD', '5* HOTEL')).to.deep.equal(['NO ADDRESS DETAILS ROAD', '5* HOTEL'])
  })

  it('loses the commas of an empty town, and no other', () => {
    expect(lines(', Ireland', 'DUBLIN 7, DUBLIN,', 'A,, B')).to.deep.equal(['Ireland', 'DUBLIN 7, DUBLIN', 'A,, B'])
  })

  it('counts hidden characters like a name', () => {
    const { registered_address, findings } = company({ company_address_2: 'A\u202EB' })
    expect(registered_address.lines[1]).to.equal('AB')
    expect(findings).to.deep.equal(['hidden_characters_removed'])
  })
})

describe('a date of the register', () => {
  for (const [column, field] of DATES) {
    it(`in ${column} is ${field}, or null and counted`, () => {
      expect(company({ [column]: ' 2015-06-01 ' })[field]).to.equal('2015-06-01')
      expect(company({ [column]: '' })).to.deep.include({ [field]: null, findings: [] })
      expect(company({ [column]: '2009-02-30' })).to.deep.include({ [field]: null, findings: ['date_malformed'] })
      expect(company({ [column]: '1901-01-01' })).to.deep.include({ [field]: null, findings: ['date_sentinel'] })
    })
  }

  it('may have the midnight of the datastore', () => {
    for (const time of ['T00:00:00', 'T00:00:00Z', 'T00:00:00.000', 'T00:00:00.000Z']) {
      expect(company({ nard: `2015-06-01${time}` }).next_annual_return_date).to.equal('2015-06-01')
    }
  })

  it('may be old, far ahead, or a leap day', () => {
    for (const date of ['1844-01-01', '1899-12-31', '2000-02-29', '2024-02-29', '2999-12-31']) {
      expect(company({ company_reg_date: date })).to.deep.include({ registered_date: date, findings: [] })
    }
  })

  for (const date of [
    '2023-02-29',
    '1900-02-29',
    '2015-13-01',
    '2015-00-10',
    '2015-6-1',
    '01/06/2015',
    '20150601',
    'x',
  ]) {
    it(`is null and counted as ${date}`, () => {
      expect(company({ nard: date })).to.deep.include({ next_annual_return_date: null, findings: ['date_malformed'] })
    })
  }

  it('is null and counted with a time of day', () => {
    expect(company({ nard: '2015-06-01T12:30:00' }).findings).to.deep.equal(['date_malformed'])
  })

  it('is null and counted as the sentinel of the year one', () => {
    expect(company({ nard: '0001-01-01T00:00:00' }).findings).to.deep.equal(['date_sentinel'])
  })
})

describe('a code of the register', () => {
  for (const [column, field] of [
    ['company_status_code', 'status_code'],
    ['company_type_code', 'company_type_code'],
    ['princ_object_code', 'principal_object_code'],
  ] as const) {
    it(`in ${column} is ${field} as delivered, or null and counted`, () => {
      for (const code of ['1', '1151', '00012', '24.41', '99999999', '1.1234']) {
        expect(company({ [column]: ` ${code} ` })).to.deep.include({ [field]: code, findings: [] })
      }
      expect(company({ [column]: ' ' })).to.deep.include({ [field]: null, findings: [] })
      for (const code of ['x', '123456789', '1.12345', '.5', '1.', '-1', '1e3']) {
        expect(company({ [column]: code })).to.deep.include({ [field]: null, findings: ['code_malformed'] })
      }
    })
  }

  it('of NACE gets back the zeros that a number loses', () => {
    for (const [text, code] of [
      ['3101.0', '3101'],
      ['150.0', '0150'],
      ['16.0', '0016'],
      ['0150', '0150'],
      [' 6420 ', '6420'],
    ] as const) {
      expect(company({ nace_v2_code: text })).to.deep.include({ nace_v2_code: code, findings: [] })
    }
    expect(company({ nace_v2_code: '' })).to.deep.include({ nace_v2_code: null, findings: [] })
  })

  it('of NACE is null and counted as anything else', () => {
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

  it('is null and counted when it is none; nothing is guessed', () => {
    for (const text of [
      '11',
      '00000',
      ',',
      'DO4A9K8',
      'D02X28',
      'D02X2855',
      'D0WX285',
      'A1WX285',
      'D02 X28É',
      '1234567',
    ]) {
      expect(eircode(text), text).to.deep.equal([null, 'eircode_malformed'])
    }
  })
})
