/** Refuses a file with too few companies, before its snapshot is published. */
import { ImportError } from './errors.ts'

/**
 * The register seldom loses companies. A file with less than this share of the last retrieval is incomplete (contract
 * 11.2). Rows do not count: copies of one row are one company.
 */
const KEPT_SHARE_MIN = 0.9

export interface ExpectedCompanies {
  /** The least number of companies that is accepted from this location. */
  companiesMin: number
  /** The number of companies of the last retrieval from the same location, or 0. */
  companiesBefore: number
}

/** `count` is the number of companies that are not quarantined. */
export function checkCompanyCount(count: number, { companiesMin, companiesBefore }: ExpectedCompanies): void {
  if (count === 0) throw new ImportError('no_companies', 'the file contains no company')
  if (count < companiesMin) {
    throw new ImportError('too_few_companies', `the file has ${count} companies; the minimum is ${companiesMin}`)
  }
  if (count < companiesBefore * KEPT_SHARE_MIN) {
    const before = `the same source gave ${companiesBefore} before`
    throw new ImportError('companies_lost', `the file has ${count} companies; ${before}`)
  }
}
