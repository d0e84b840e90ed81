/** Finds companies in several registers as if they were one. On testnet these are the dataset and the synthetic company. */
import { findCompanies, type CompanyQuery, type FindResult, type FoundCompanies } from './find-companies.ts'
import type { Register } from './register.ts'
import { TopCandidates } from './top-candidates.ts'

export function findInRegisters(registers: readonly Register[], query: CompanyQuery, now: () => Date): FindResult {
  const results = registers.map((register) => findCompanies(register, query, { now }))
  const found = results.flatMap((result) => (result.kind === 'found' ? [result] : []))
  if (found.length < results.length) return { kind: 'too_broad' }
  const hasExact = (result: FoundCompanies) => result.candidates.some(({ match_type }) => match_type !== 'fuzzy_name')
  const readingIndex = Math.min(...found.filter(hasExact).map((each) => each.readingIndex))
  const isUsed = (result: FoundCompanies) =>
    query.fuzzy === 'always' ||
    readingIndex === Number.POSITIVE_INFINITY ||
    (hasExact(result) && result.readingIndex === readingIndex)
  const top = new TopCandidates()
  for (const each of found.filter(isUsed).flatMap(({ candidates }) => candidates)) top.add(each)
  const isTruncated = found.some((each) => each.isTruncated)
  return { kind: 'found', candidates: top.candidates(), isTruncated, readingIndex }
}
