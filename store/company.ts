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

export type StoredValue = string | null

const QUARANTINE_MARK = '"quarantined"'

/**
 * The bytes of an entry on disk: sealed JSON of the values alone, in a fixed order. Without the field names a record is
 * less than half as long, and a million of them stay under half a gigabyte. The number is the key and not repeated.
 */
export function encodeEntry(entry: Entry): Buffer {
  return seal(entry === 'quarantined' ? QUARANTINE_MARK : JSON.stringify(valuesOf(entry)))
}

/** Reads an entry back. Throws when the bytes are not the ones that were written. */
export function decodeEntry(companyNumber: string, bytes: Buffer): Entry {
  const record = decodeValues(bytes)
  return record === 'quarantined' ? record : companySchema.parse(companyOf(companyNumber, record.values))
}

export interface StoredRecord {
  values: readonly StoredValue[]
  /** Whether no value has a character that JSON writes another way, so that it may be put between quotes as it is. */
  isPlain: boolean
}

/** The values alone, for who has written them itself and needs no word but the seal's. */
export function decodeValues(bytes: Buffer): StoredRecord | 'quarantined' {
  const text = unseal(bytes)
  const values: unknown = JSON.parse(text)
  if (values === 'quarantined') return 'quarantined'
  if (!Array.isArray(values) || values.length < VALUES_MIN) throw new Error('A company record has too few values')
  return { values: values as StoredValue[], isPlain: !text.includes('\\') }
}

/** A company's values in the one order they are stored in: the texts, the Eircode, the lines of the address. */
export function valuesOf(company: Company): StoredValue[] {
  return [
    company.legal_name,
    company.status,
    company.status_code,
    company.company_type,
    company.company_type_code,
    company.nace_v2_code,
    company.principal_object_code,
    company.registered_date,
    company.dissolved_date,
    company.last_annual_return_date,
    company.next_annual_return_date,
    company.last_accounts_date,
    company.status_date,
    company.name_effective_date,
    company.type_effective_date,
    company.registered_address.eircode,
    ...company.registered_address.lines,
  ]
}

/** How many values a record without an address line has. */
export const VALUES_MIN = 16

/** A company of values in the order of {@link valuesOf}; that they fit is for the seal or the schema to say. */
export function companyOf(company_number: string, values: readonly StoredValue[]): Company {
  return {
    company_number,
    legal_name: values[0] as string,
    status: values[1] as StoredValue,
    status_code: values[2] as StoredValue,
    company_type: values[3] as StoredValue,
    company_type_code: values[4] as StoredValue,
    nace_v2_code: values[5] as StoredValue,
    principal_object_code: values[6] as StoredValue,
    registered_date: values[7] as StoredValue,
    dissolved_date: values[8] as StoredValue,
    last_annual_return_date: values[9] as StoredValue,
    next_annual_return_date: values[10] as StoredValue,
    last_accounts_date: values[11] as StoredValue,
    status_date: values[12] as StoredValue,
    name_effective_date: values[13] as StoredValue,
    type_effective_date: values[14] as StoredValue,
    registered_address: { lines: values.slice(VALUES_MIN) as string[], eircode: values[15] as StoredValue },
  }
}
