/** One company record (spec 2.1): its schema, and its compact and checked form on disk. */
import { z } from 'zod'
import { seal, unseal } from './seal.ts'

export const COMPANY_NUMBER_PATTERN = /^[0-9]{1,20}$/

const isoDate = z.iso.date().nullable()

/** A company as sold. Nullable fields are present with null; dates are `YYYY-MM-DD`. */
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

/** What a snapshot holds under a company number: the company, or the mark that its records contradict each other. */
export type Entry = Company | 'quarantined'

/** The order of company numbers: shorter first, so that numbers without leading zeros are in the order of their values. */
export function byNumber(one: string, other: string): number {
  if (one.length !== other.length) return one.length - other.length
  return one < other ? -1 : Number(one > other)
}

const TEXT_FIELDS = [
  'legal_name',
  'status',
  'status_code',
  'company_type',
  'company_type_code',
  'nace_v2_code',
  'principal_object_code',
  'registered_date',
  'dissolved_date',
  'last_annual_return_date',
  'next_annual_return_date',
  'last_accounts_date',
  'status_date',
  'name_effective_date',
  'type_effective_date',
] as const satisfies (keyof Company)[]

const QUARANTINE_MARK = Buffer.from('"quarantined"')

/**
 * The bytes of an entry on disk: sealed JSON of the values alone, in a fixed order. Without the field names a record is
 * less than half as long, and a million of them stay under half a gigabyte. The number is the key and not repeated.
 */
export function encodeEntry(entry: Entry): Buffer {
  if (entry === 'quarantined') return seal(QUARANTINE_MARK)
  const { lines, eircode } = entry.registered_address
  const values = TEXT_FIELDS.map((field) => entry[field])
  return seal(Buffer.from(JSON.stringify([...values, eircode, ...lines])))
}

/** Reads an entry back. Throws when the bytes are not the ones that were written. */
export function decodeEntry(companyNumber: string, bytes: Buffer): Entry {
  const values: unknown = JSON.parse(unseal(bytes).toString('utf8'))
  if (values === 'quarantined') return 'quarantined'
  if (!Array.isArray(values) || values.length <= TEXT_FIELDS.length)
    throw new Error('A company record has too few values')
  const company: Record<string, unknown> = { company_number: companyNumber }
  TEXT_FIELDS.forEach((field, index) => (company[field] = values[index]))
  const [eircode, ...lines] = values.slice(TEXT_FIELDS.length)
  company['registered_address'] = { lines, eircode }
  return companySchema.parse(company)
}
