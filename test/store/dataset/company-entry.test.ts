/** Encoding of a company record: decoding returns the encoded record or throws. */
import { expect } from 'chai'
import fc from 'fast-check'
import { decodeEntry, encodeEntry } from '../../../store/dataset/company-entry.ts'
import type { Company } from '../../../store/dataset/company.ts'
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

const fields = <Name extends string>(value: typeof nullableText, ...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, value])) as Record<Name, typeof nullableText>

const anyCompany: fc.Arbitrary<Company> = fc.record({
  company_number: fc.stringMatching(/^[0-9]{1,20}$/),
  legal_name: text.filter((name) => name !== ''),
  ...fields(nullableText, 'status', 'status_code', 'company_type', 'company_type_code'),
  ...fields(nullableText, 'nace_v2_code', 'principal_object_code'),
  ...fields(date, 'registered_date', 'dissolved_date', 'last_annual_return_date', 'next_annual_return_date'),
  ...fields(date, 'last_accounts_date', 'status_date', 'name_effective_date', 'type_effective_date'),
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

  it('is refused if the value with a valid checksum is not a company', () => {
    for (const value of ['', '{}', '[]', 'null', '[1]', JSON.stringify(Array.from({ length: 16 }, () => 1))]) {
      expect(() => decodeEntry('1', encodeWithChecksum(value)), value).to.throw()
    }
  })
})
