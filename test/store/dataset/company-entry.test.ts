/** Encoding of a company record: decoding returns the encoded record or throws. */
import { expect } from 'chai'
import fc from 'fast-check'
import { decodeEntry, encodeEntry } from '../../../store/dataset/company-entry.ts'
import { FIELDS, mapFields, type Company } from '../../../store/dataset/company.ts'
import { encodeWithChecksum } from '../../../store/files/checksum.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'

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
  ...mapFields((field) => (FIELDS[field][1] === 'date' ? date : nullableText)),
  registered_address: fc.record({ lines: fc.array(text, { maxLength: 4 }), eircode: nullableText }),
})

describe('a company record', () => {
  it('is decoded to the same company, and equal companies have equal bytes', () => {
    fc.assert(
      fc.property(anyCompany, (company) => {
        const bytes = encodeEntry(company)
        expect(decodeEntry(company.company_number, bytes)).to.deep.equal(company)
        expect(encodeEntry(structuredClone(company)).equals(bytes)).to.equal(true)
      }),
    )
  })

  it('is refused with any byte changed, or cut short at any length', () => {
    const bytes = encodeEntry(SYNTHETIC_COMPANY)
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << (at % 8)), at)
      expect(() => decodeEntry('00000000', flipped), `bit in byte ${at}`).to.throw('does not match its checksum')
      expect(() => decodeEntry('00000000', bytes.subarray(0, at)), `cut at ${at}`).to.throw(
        'does not match its checksum',
      )
    }
  })

  it('of version 1.0.0 is read, as the journal keeps it', () => {
    const { legal_name, status, status_code, company_type, company_type_code } = SYNTHETIC_COMPANY
    const day = '2026-01-01'
    const codes = [status, status_code, company_type, company_type_code, null, null]
    const values = [legal_name, ...codes, day, null, null, null, null, null, day, day]
    const entry = encodeWithChecksum(JSON.stringify([...values, null, '1 SYNTHETIC STREET', 'DUBLIN']))
    expect(decodeEntry('00000000', entry)).to.deep.equal(SYNTHETIC_COMPANY)
  })

  it('is refused if the value with a valid checksum is not a company', () => {
    for (const value of ['', '{}', '[]', 'null', '[1]', JSON.stringify(Array.from({ length: 16 }, () => 1))]) {
      expect(() => decodeEntry('1', encodeWithChecksum(value)), value).to.throw()
    }
  })
})
