/** What operations read: the registers at one moment. The port keeps the dataset and the name search out of this folder. */
import type { Company } from '../../store/dataset/company.ts'
import type { Source } from '../../store/dataset/source.ts'
import type { Refused } from './outcome.ts'
import type { Candidate } from './result.ts'

export interface Provenance {
  source: Source
  snapshot_id: string
}

export interface FoundCompany extends Provenance {
  kind: 'found'
  company: Company
}

/** The members that every answer with candidates has. */
export interface RankedCompanies extends Provenance {
  kind: 'ranked'
  candidates: readonly Candidate[]
  candidate_limit_reached: boolean
  matching_version: string
  score_definition: string
}

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
export interface Identification extends Evidence {
  name?: string | undefined
  company_number?: string | undefined
}

export interface Decision extends Omit<RankedCompanies, 'kind'> {
  kind: 'decided'
  status: 'matched' | 'ambiguous' | 'conflicting' | 'no_match'
}

export interface Companies {
  /** The company with this number. */
  get(companyNumber: string): FoundCompany | Refused
  /** The companies with the most similar names, best first. */
  rank(search: NameSearch): RankedCompanies | Refused
  /** The company that the given members identify, or the reason why no company is certain. */
  identify(given: Identification): Decision | Refused
}
