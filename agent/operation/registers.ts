/**
 * The interface through which operations read company data. With it, this folder needs no dataset, journal or name
 * search.
 */
import type { z } from 'zod'
import type { ChangesInput, ChangesResponse } from './changes.ts'
import type { HistoryResponse } from './history.ts'
import type { Computed } from './outcome.ts'
import type { ResolveResponse } from './resolve.ts'
import type { companyResponseSchema, rankingMembers } from './result.ts'

type CompanyResponse = z.infer<typeof companyResponseSchema>
type Ranking = z.infer<z.ZodObject<typeof rankingMembers>>

interface Evidence {
  eircode?: string | undefined
  address?: string | undefined
}

interface NameSearch extends Evidence {
  name: string
  limit: number
  /** Only companies of this status text, ignoring case. */
  status?: string | undefined
}

/** A name, a number or both. */
interface Identification extends Evidence {
  name?: string | undefined
  company_number?: string | undefined
}

export interface Registers {
  /** The company with this number. */
  get(companyNumber: string): Computed<CompanyResponse>
  /** The companies with the most similar names, best first. */
  rank(search: NameSearch): Computed<Ranking>
  /** The status texts of the companies. None without a dataset. */
  statuses(): readonly (string | null)[]
  /** The company that the given members identify, or the reason why no company is certain. */
  identify(given: Identification): Computed<Ranking & Pick<ResolveResponse, 'status'>>
  /** The company in the last file of a day or before. */
  companyOn(companyNumber: string, date: string): Computed<CompanyResponse>
  /** All versions of a number, or those that began before the step `before`. */
  versions(companyNumber: string, before: string | undefined): Computed<HistoryResponse>
  /** Both days are inclusive. */
  changes(input: ChangesInput): Computed<ChangesResponse>
}
