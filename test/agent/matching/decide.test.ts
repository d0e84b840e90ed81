/** The decision of spec 4.3 by itself: every reason to say less than "matched", and their order. */
import { expect } from 'chai'
import { decide } from '../../../agent/matching/decide.ts'
import type { Candidate, ResolveResponse } from '../../../agent/operation/result.ts'
import { SYNTHETIC_COMPANY } from '../../../store/synthetic.ts'

function candidate(score: number, conflicts: Candidate['conflicts'] = []): Candidate {
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

const CASES: [why: string, candidates: Candidate[], isTruncated: boolean, status: ResolveResponse['status']][] = [
  ['nothing was found', [], false, 'no_match'],
  ['nothing was found in a pool that was cut', [], true, 'no_match'],
  ['one stands alone at 1000', [candidate(1000)], false, 'matched'],
  ['one stands alone at 900', [candidate(900)], false, 'matched'],
  ['one stands alone below 900', [candidate(899)], false, 'ambiguous'],
  ['the next is 80 behind', [candidate(980), candidate(900)], false, 'matched'],
  ['the next is 79 behind', [candidate(980), candidate(901)], false, 'ambiguous'],
  ['the next is level', [candidate(1000), candidate(1000)], false, 'ambiguous'],
  ['the pool was cut', [candidate(1000)], true, 'ambiguous'],
  ['the Eircode contradicts', [candidate(1000, ['eircode_mismatch'])], false, 'conflicting'],
  ['the name contradicts', [candidate(1000, ['name_mismatch'])], false, 'conflicting'],
  ['the address is not contained', [candidate(1000, ['address_not_contained'])], false, 'matched'],
  ['a low score contradicts', [candidate(500, ['eircode_mismatch'])], false, 'conflicting'],
  ['the pool was cut and the top contradicts', [candidate(1000, ['eircode_mismatch'])], true, 'ambiguous'],
  ['only the next contradicts', [candidate(1000), candidate(900, ['eircode_mismatch'])], false, 'matched'],
]

describe('a resolution', () => {
  for (const [why, candidates, isTruncated, status] of CASES) {
    it(`is ${status} when ${why}`, () => {
      expect(decide(candidates, { isTruncated })).to.equal(status)
    })
  }
})
