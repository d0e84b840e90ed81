/** The columns of the register and the fields of a company record (contract 2.1). */
import * as z from 'zod'

export const COMPANY_NUMBER_PATTERN = /^[0-9]{1,20}$/

/** Raise it with every change that can give another snapshot for the same archive. */
export const NORMALISATION_VERSION = 'cro-4'

/** Of the register's file, in their order. */
// prettier-ignore
export const COLUMNS = [
  'company_num', 'company_name', 'company_status_code', 'company_status', 'company_type_code', 'company_type',
  'company_reg_date', 'last_ar_date',
  'company_address_1', 'company_address_2', 'company_address_3', 'company_address_4',
  'comp_dissolved_date', 'nard', 'last_accounts_date', 'company_status_date', 'nace_v2_code', 'eircode',
  'company_name_eff_date', 'company_type_eff_date', 'princ_object_code',
] as const

const text = z.string().nullable()
const date = z.iso.date().nullable()

/** How the text of a column becomes a value (store/import/normalise.ts). */
const KINDS = { text, code: text, nace: text, date }

/**
 * The fields that come from one column of the register each: the column and its kind. The values of a record on disk
 * are in this order, and the journal keeps records of earlier files.
 */
export const FIELDS = {
  status: ['company_status', 'text'],
  status_code: ['company_status_code', 'code'],
  company_type: ['company_type', 'text'],
  company_type_code: ['company_type_code', 'code'],
  nace_v2_code: ['nace_v2_code', 'nace'],
  principal_object_code: ['princ_object_code', 'code'],
  registered_date: ['company_reg_date', 'date'],
  dissolved_date: ['comp_dissolved_date', 'date'],
  last_annual_return_date: ['last_ar_date', 'date'],
  next_annual_return_date: ['nard', 'date'],
  last_accounts_date: ['last_accounts_date', 'date'],
  status_date: ['company_status_date', 'date'],
  name_effective_date: ['company_name_eff_date', 'date'],
  type_effective_date: ['company_type_eff_date', 'date'],
} as const satisfies Record<string, readonly [column: string, kind: keyof typeof KINDS]>

type Field = keyof typeof FIELDS
const FIELD_NAMES = Object.keys(FIELDS) as Field[]

/** A value for each field. */
export function mapFields<Value>(toValue: (field: Field) => Value): Record<Field, Value> {
  const values = {} as Record<Field, Value>
  for (const field of FIELD_NAMES) values[field] = toValue(field)
  return values
}

/** A company as the service returns it. Nullable fields are present with null. Dates are `YYYY-MM-DD`. */
export const companySchema = z.strictObject({
  company_number: z.string().regex(COMPANY_NUMBER_PATTERN),
  legal_name: z.string().min(1),
  ...mapFields((field): z.ZodType<string | null> => KINDS[FIELDS[field][1]]),
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

/** Status texts of companies that no longer exist. "Strike Off Listed" is not one of them. */
const DISSOLVED = /^(?:dissolved|ceased|deleted|struck off)/i

export const isDissolvedStatus = (status: string | null) => DISSOLVED.test(status ?? '')

export function isDissolved({ status, dissolved_date }: Company): boolean {
  return dissolved_date !== null || isDissolvedStatus(status)
}
