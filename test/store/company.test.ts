/** A company record on disk: what is read is what was written, or an error. */
import { expect } from 'chai'
import fc from 'fast-check'
import { companySchema, decodeEntry, encodeEntry, type Company } from '../../store/company.ts'
import { seal } from '../../store/seal.ts'
import { SYNTHETIC_COMPANY } from '../../store/synthetic.ts'

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('quarantined', '__proto__', '[]', '"', '\u2028'))
const nullableText = fc.option(text, { nil: null })
const date = fc.option(
  fc
    .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    .map((day) => day.toISOString().slice(0, 10)),
  { nil: null },
)

const anyCompany: fc.Arbitrary<Company> = fc.record({
  company_number: fc.stringMatching(/^[0-9]{1,20}$/),
  legal_name: text.filter((name) => name !== ''),
  status: nullableText,
  status_code: nullableText,
  company_type: nullableText,
  company_type_code: nullableText,
  nace_v2_code: nullableText,
  principal_object_code: nullableText,
  registered_date: date,
  dissolved_date: date,
  last_annual_return_date: date,
  next_annual_return_date: date,
  last_accounts_date: date,
  status_date: date,
  name_effective_date: date,
  type_effective_date: date,
  registered_address: fc.record({ lines: fc.array(text, { maxLength: 4 }), eircode: nullableText }),
})

describe('a company record', () => {
  it('comes back as it was written, byte for byte the same each time', () => {
    fc.assert(
      fc.property(anyCompany, (company) => {
        const bytes = encodeEntry(company)
        expect(decodeEntry(company.company_number, bytes)).to.deep.equal(company)
        expect(encodeEntry(structuredClone(company)).equals(bytes)).to.equal(true)
      }),
    )
  })

  it('tells every field apart: another value gives other bytes', () => {
    const bytes = encodeEntry(SYNTHETIC_COMPANY)
    for (const field of Object.keys(companySchema.shape)) {
      if (field === 'company_number' || field === 'registered_address') continue
      const changed = { ...SYNTHETIC_COMPANY, [field]: '2001-01-01' }
      expect(encodeEntry(changed).equals(bytes), field).to.equal(false)
      expect(decodeEntry(SYNTHETIC_COMPANY.company_number, encodeEntry(changed)), field).to.deep.equal(changed)
    }
  })

  it('can be the mark of a quarantine', () => {
    expect(decodeEntry('1', encodeEntry('quarantined'))).to.equal('quarantined')
  })

  it('is refused with any bit flipped, or cut short at any place', () => {
    const bytes = encodeEntry(SYNTHETIC_COMPANY)
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << (at % 8)), at)
      expect(() => decodeEntry('00000000', flipped), `bit in byte ${at}`).to.throw('does not match its seal')
      expect(() => decodeEntry('00000000', bytes.subarray(0, at)), `cut at ${at}`).to.throw('does not match its seal')
    }
  })

  it('is refused when what was sealed is no company', () => {
    for (const value of ['', '{}', '[]', 'null', '[1]', JSON.stringify(Array.from({ length: 16 }, () => 1))]) {
      expect(() => decodeEntry('1', seal(value)), value).to.throw()
    }
  })

  it('is refused under a key that is no company number', () => {
    expect(() => decodeEntry('x', encodeEntry(SYNTHETIC_COMPANY))).to.throw()
  })
})
