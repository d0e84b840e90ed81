/** One company record (contract 2.1): its schema and its encoding on disk. */
import { z } from 'zod'
import { encodeWithChecksum, decodeWithChecksum } from './checksum.ts'

export const COMPANY_NUMBER_PATTERN = /^[0-9]{1,20}$/

const isoDate = z.iso.date().nullable()

/** A company as the service returns it. Nullable fields are present with null. Dates are `YYYY-MM-DD`. */
export const companySchema = z.strictObject({
  company_number: z.string().regex(COMPANY_NUMBER_PATTERN),
  legal_name: z.string().min(1),
  status: z.string().nullable(),
  status_code: z.string().nullable(),
  company_type: z.string().nullable(),
  company_type_code: z.string().nullable(),
  nace_v2_code: z.string().nullable(),
  principal_object_code: z.string().nullable(),
  registered_date: isoDate,
  dissolved_date: isoDate,
  last_annual_return_date: isoDate,
  next_annual_return_date: isoDate,
  last_accounts_date: isoDate,
  status_date: isoDate,
  name_effective_date: isoDate,
  type_effective_date: isoDate,
  registered_address: z.strictObject({ lines: z.array(z.string()), eircode: z.string().nullable() }),
})

export type Company = z.infer<typeof companySchema>

/** The value under a company number: the company, or `quarantined` if the register's rows for it contradict each other. */
export type SnapshotEntry = Company | 'quarantined'

/** Orders company numbers: shorter first, then byte by byte. Without leading zeros this is numeric order. */
export function compareCompanyNumbers(one: string, other: string): number {
  if (one.length !== other.length) return one.length - other.length
  return one < other ? -1 : Number(one > other)
}

const QUARANTINE_MARK = '"quarantined"'

/** All fields but the number and the address, in their order on disk. The Eircode and the address lines follow them. */
const TEXT_FIELDS = companySchema.omit({ company_number: true, registered_address: true }).keyof().options

/** The stored form of a quarantined number. */
export const QUARANTINED_BYTES = encodeWithChecksum(QUARANTINE_MARK)

/**
 * Encodes an entry as JSON of its values without names, which halves its length, with a checksum. The company number is the
 * key and is not repeated.
 */
export function encodeEntry(entry: SnapshotEntry): Buffer {
  if (entry === 'quarantined') return QUARANTINED_BYTES
  const { lines, eircode } = entry.registered_address
  return encodeWithChecksum(JSON.stringify([...TEXT_FIELDS.map((field) => entry[field]), eircode, ...lines]))
}

/** @throws when the checksum or the schema does not match */
export function decodeEntry(companyNumber: string, bytes: Buffer): SnapshotEntry {
  const entry = decodeOwnEntry(companyNumber, bytes)
  return entry === 'quarantined' ? entry : companySchema.parse(entry)
}

/** Verifies the checksum but not the schema. For an import, which has just encoded these entries itself. */
export function decodeOwnEntry(companyNumber: string, bytes: Buffer): SnapshotEntry {
  const values: unknown = JSON.parse(decodeWithChecksum(bytes))
  if (values === 'quarantined') return 'quarantined'
  if (!Array.isArray(values) || values.length <= TEXT_FIELDS.length)
    throw new Error('A company record has too few values')
  const company: Record<string, unknown> = { company_number: companyNumber }
  for (const [index, field] of TEXT_FIELDS.entries()) company[field] = values[index]
  const address = values.slice(TEXT_FIELDS.length)
  company['registered_address'] = { lines: address.slice(1), eircode: address[0] }
  return company as Company
}
