/** Tests of the columns of the register. The rules have tests in snapshot-id-in-python.test.ts. */
import { expect } from 'chai'
import fc from 'fast-check'
import { normalise } from '../../../store/import/normalise.ts'
import { COLUMNS, companySchema, type Company } from '../../../store/dataset/company.ts'
import type { RegisterRow } from '../../../store/import/rows.ts'
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
    ['  ', 'no_company_number'],
    ['73848.0', 'malformed_company_number'],
    ['-1', 'malformed_company_number'],
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

describe('a text of the register', () => {
  it('[11.4] contains no hidden character of Unicode', () => {
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
