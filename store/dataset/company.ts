/** The schema of a company record (contract 2.1). */
import * as z from 'zod'

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

/**
 * The value under a company number: the company, or `quarantined` if the register's rows for it contradict each other.
 */
export type SnapshotEntry = Company | 'quarantined'

/** Orders company numbers: shorter first, then byte by byte. Without leading zeros this is numeric order. */
export function compareCompanyNumbers(one: string, other: string): number {
  if (one.length !== other.length) return one.length - other.length
  return one < other ? -1 : Number(one > other)
}
