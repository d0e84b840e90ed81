/** The status of a resolution: every rule, at its limit, and their order. */
import { expect } from 'chai'
import { decideStatus } from '../../../../agent/answer/companies.ts'
import type { Candidate } from '../../../../agent/operation/result.ts'
import type { ResolveResponse } from '../../../../agent/operation/resolve.ts'
import { SYNTHETIC_COMPANY } from '../../../../store/dataset/synthetic.ts'

function candidate(score: number, ...conflicts: Candidate['conflicts']): Candidate {
  const signals = {
    name_similarity: 1,
    strict_name_exact: true,
    relaxed_name_exact: true,
    eircode_exact: null,
    address_contains: null,
    company_number_exact: false,
  }
  return { company: SYNTHETIC_COMPANY, score, match_type: 'strict_name', signals, conflicts }
}

const CASES: [when: string, status: ResolveResponse['status'], candidates: Candidate[], isTruncated?: boolean][] = [
  ['there is no candidate', 'no_match', []],
  ['there is no candidate in a truncated pool', 'no_match', [], true],
  ['the only score is 1000', 'matched', [candidate(1000)]],
  ['the only score is 900', 'matched', [candidate(900)]],
  ['the only score is 899', 'ambiguous', [candidate(899)]],
  ['the second score is 80 lower', 'matched', [candidate(980), candidate(900)]],
  ['the second score is 79 lower', 'ambiguous', [candidate(980), candidate(901)]],
  ['the second score is equal', 'ambiguous', [candidate(1000), candidate(1000)]],
  ['the pool is truncated', 'ambiguous', [candidate(1000)], true],
  ['the Eircode contradicts', 'conflicting', [candidate(1000, 'eircode_mismatch')]],
  ['the name contradicts', 'conflicting', [candidate(1000, 'name_mismatch')]],
  ['a candidate with a low score is contradicted', 'conflicting', [candidate(500, 'eircode_mismatch')]],
  ['the pool is truncated and the first is contradicted', 'ambiguous', [candidate(1000, 'eircode_mismatch')], true],
  ['only the second is contradicted', 'matched', [candidate(1000), candidate(900, 'eircode_mismatch')]],
]

describe('[12.5] the status of a resolution', () => {
  for (const [when, status, candidates, isTruncated = false] of CASES) {
    it(`is ${status} when ${when}`, () => {
      expect(decideStatus(candidates, { isTruncated })).to.equal(status)
    })
  }
})
