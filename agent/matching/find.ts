/**
 * Finds the companies that a name may mean, best first: those that are called so, and similar ones in a bounded pool.
 *
 * The ten best of the register are found exactly. Names are measured in the order of their bounds, and measuring ends
 * when no later one can come among the ten. Where a limit cuts the pool before that, the result says so.
 */
import type { Company } from '../../store/company.ts'
import { drawPool, sameNames, type Pool } from '../../store/index/candidates.ts'
import type { NameIndex } from '../../store/index/name-index.ts'
import { readQuery } from '../../store/index/query.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import type { Candidate } from '../operation/result.ts'
import { equalityOf, readForSimilarity, readName } from './equality.ts'
import { conflictsOf, evidenceFor, type EvidenceAsked } from './evidence.ts'
import { EVIDENCE_SCORE_MAX, nameScore, scoreOf } from './score.ts'
import { Shortlist } from './shortlist.ts'
import { similarityTo } from './similarity.ts'

/** Names less similar than this are not returned: who searches wants to see what there is, who resolves wants to know. */
export const SIMILARITY_MIN = { beside_equal: 0.3, instead_of_equal: 0.5 } as const
/** Names that are measured for one query: some milliseconds of work at most. */
const POOL_NAMES_MAX = 2_000
/** Companies of one name that are read for one query; in the register, names of more than a few don't occur. */
const SAME_NAMES_MAX = 500
/** Names that are measured between two looks at the clock. */
const NAMES_PER_LOOK = 256

/** What is searched: the companies, and their names. */
export interface Register {
  snapshot: Snapshot
  names: NameIndex
}

export interface Wanted extends EvidenceAsked {
  name: string
  /** A status text; companies of others are left out. */
  status?: string | undefined
  /** Whether similar names are wanted beside equal ones, or only in their absence. */
  similar: 'beside_equal' | 'instead_of_equal'
}

export type Found =
  | { kind: 'found'; candidates: Candidate[]; isTruncated: boolean }
  /** The time was up; what had been found until then depends on the machine, so it is nothing. */
  | { kind: 'too_broad' }

export function findCompanies(register: Register, wanted: Wanted, isTimeUp: () => boolean): Found {
  if (isTimeUp()) return { kind: 'too_broad' }
  const asked = readName(wanted.name)
  const shortlist = new Shortlist()
  const accepts = statusFilter(register.names, wanted.status)
  const same = sameNames(register.names, asked.core).filter(accepts)
  const equal = new Set<number>()
  for (const name of same.slice(0, SAME_NAMES_MAX)) {
    const company = companyOf(register, name)
    const matchType = equalityOf(asked, company.legal_name)
    if (matchType === undefined) continue
    equal.add(name)
    shortlist.add(name, candidate(company, { matchType, similarity: 1, asked: wanted }))
  }
  const isTruncated = same.length > SAME_NAMES_MAX
  if (wanted.similar === 'instead_of_equal' && equal.size > 0)
    return { kind: 'found', candidates: shortlist.candidates(), isTruncated }

  const search = { wanted, accepts: (name: number) => accepts(name) && !equal.has(name), shortlist }
  const pool = measurePool(register, search, isTimeUp)
  if (pool === 'time_up') return { kind: 'too_broad' }
  return { kind: 'found', candidates: shortlist.candidates(), isTruncated: isTruncated || pool === 'truncated' }
}

interface Search {
  wanted: Wanted
  accepts: (name: number) => boolean
  shortlist: Shortlist
}

function measurePool(
  register: Register,
  { wanted, accepts, shortlist }: Search,
  isTimeUp: () => boolean,
): 'complete' | 'truncated' | 'time_up' {
  const { names } = register
  const { core, suffix } = readForSimilarity(wanted.name)
  const query = readQuery(names, core)
  if (isTimeUp()) return 'time_up'
  const similarityMin = SIMILARITY_MIN[wanted.similar]
  const pool = drawPool(names, query, { similarityMin, namesMax: POOL_NAMES_MAX, accepts })
  const measure = similarityTo(names, query, suffix)
  const headroom = wanted.eircode === undefined && wanted.address === undefined ? 0 : EVIDENCE_SCORE_MAX
  const canEnter = (similarity: number) => shortlist.admits(nameScore('fuzzy_name', similarity) + headroom)
  for (const [place, name] of pool.names.entries()) {
    if (!canEnter(pool.bounds[place]!)) break
    if (place % NAMES_PER_LOOK === 0 && isTimeUp()) return 'time_up'
    const { similarity } = measure(name)
    if (similarity < similarityMin || !canEnter(similarity)) continue
    shortlist.add(name, candidate(companyOf(register, name), { matchType: 'fuzzy_name', similarity, asked: wanted }))
  }
  return isCut(pool, { similarityMin, canEnter }) ? 'truncated' : 'complete'
}

/** Whether a name that was left out could have come among the first. */
function isCut(
  { boundLeftOut }: Pool,
  { similarityMin, canEnter }: { similarityMin: number; canEnter: (similarity: number) => boolean },
): boolean {
  return boundLeftOut >= similarityMin && canEnter(boundLeftOut)
}

interface Judgement {
  matchType: Candidate['match_type']
  similarity: number
  asked: EvidenceAsked
}

function candidate(company: Company, { matchType, similarity, asked }: Judgement): Candidate {
  const evidence = evidenceFor(company, asked)
  const signals = {
    name_similarity: similarity,
    strict_name_exact: matchType === 'strict_name',
    relaxed_name_exact: matchType === 'strict_name' || matchType === 'relaxed_name',
    ...evidence,
    company_number_exact: false,
  }
  return {
    company,
    score: scoreOf(matchType, signals),
    match_type: matchType,
    signals,
    conflicts: conflictsOf(evidence, false),
  }
}

/** Names are of companies that the snapshot holds: both were made from the same records. */
function companyOf({ snapshot, names }: Register, name: number): Company {
  const number = names.companyNumber(name)
  const entry = snapshot.find(number)
  if (entry === undefined || entry === 'quarantined') throw new Error('The name index and its snapshot disagree')
  return entry
}

function statusFilter(names: NameIndex, status: string | undefined): (name: number) => boolean {
  if (status === undefined) return () => true
  const wanted = folded(status)
  const accepted = names.statuses.map((each) => each !== null && folded(each) === wanted)
  return (name) => accepted[names.statusOf(name)] ?? false
}

function folded(status: string): string {
  return status.normalize('NFKC').trim().toLowerCase()
}
