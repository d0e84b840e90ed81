/** The encoding of a company record on disk. */
import { decodeWithChecksum, encodeWithChecksum } from '../files/checksum.ts'
import { companySchema, type Company, type SnapshotEntry } from './company.ts'

/** All fields but the number and the address, in their order on disk. The Eircode and the address lines follow them. */
export const TEXT_FIELDS = companySchema.omit({ company_number: true, registered_address: true }).keyof().options

/** The stored form of a quarantined number. */
export const QUARANTINED_BYTES = encodeWithChecksum('"quarantined"')

/**
 * Encodes an entry as JSON of its values without names, which halves its length, with a checksum. The company number is
 * the key and is not repeated.
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
