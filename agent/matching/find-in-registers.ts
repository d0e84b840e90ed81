/** Finds companies in several registers as if they were one. On testnet these are the dataset and the synthetic company. */
import { findCompanies, type CompanyQuery, type FindResult } from './find.ts'
import type { Register } from './register.ts'
import { TopCandidates } from './top-candidates.ts'

export function findInRegisters(registers: readonly Register[], query: CompanyQuery, now: () => Date): FindResult {
  const results = registers.map((register) => findCompanies(register, query, { now }))
  const found = results.flatMap((result) => (result.kind === 'found' ? [result] : []))
  if (found.length < results.length) return { kind: 'too_broad' }
  const candidates = found.flatMap((each) => each.candidates)
  const exact = candidates.filter(({ match_type }) => match_type !== 'fuzzy_name')
  const top = new TopCandidates()
  for (const each of query.fuzzy === 'without_exact' && exact.length > 0 ? exact : candidates) top.add(each)
  return { kind: 'found', candidates: top.candidates(), isTruncated: found.some(({ isTruncated }) => isTruncated) }
}
