/** The companies that a name finds: the ten best of all, the same whoever measures them, and told where a limit cut in. */
import { expect } from 'chai'
import fc from 'fast-check'
import { findCompanies, type Wanted } from '../../../agent/matching/find.ts'
import { equalityOf, readForSimilarity, readName } from '../../../agent/matching/equality.ts'
import { evidenceFor } from '../../../agent/matching/evidence.ts'
import { scoreOf } from '../../../agent/matching/score.ts'
import { hasEnded } from '../../../agent/matching/shortlist.ts'
import { similarityTo } from '../../../agent/matching/similarity.ts'
import type { Company } from '../../../store/company.ts'
import { readQuery } from '../../../store/index/query.ts'
import { registerOf, rowsOf, type Row, type TestRegister } from '../../support/companies.ts'
import { anyName } from '../../support/names.ts'

const EIRCODES = ['D02 X285', 'T12 AB34', '']
const anyRows: fc.Arbitrary<Row[]> = fc
  .array(
    fc.record({
      name: anyName,
      status: fc.constantFrom('Normal ', 'Dissolved', 'Liquidation'),
      eircode: fc.constantFrom(...EIRCODES),
      address: fc.constantFrom('1 MAIN STREET', 'MAIN STREET, CORK', ''),
    }),
    { minLength: 150, maxLength: 150 },
  )
  .map((rows) => rows.map((row, place) => ({ ...row, number: String(place + 1) })))

const anyWanted: fc.Arbitrary<Wanted> = fc.record({
  name: anyName,
  eircode: fc.constantFrom(undefined, 'D02X285', 'T12AB34'),
  address: fc.constantFrom(undefined, 'main street', 'cork'),
  status: fc.constantFrom(undefined, 'normal', 'dissolved'),
  similar: fc.constantFrom('beside_equal', 'instead_of_equal'),
})

const find = (register: TestRegister, wanted: Wanted) => {
  const found = findCompanies(register, wanted, () => false)
  if (found.kind !== 'found') throw new Error('the time is never up')
  return found
}

/** Measures every company there is and sorts them by the rules: number, score and kind of the ten best. */
function exhaustively({ snapshot, names }: TestRegister, wanted: Wanted) {
  const asked = readName(wanted.name)
  const read = readForSimilarity(wanted.name)
  const measure = similarityTo(names, readQuery(names, read.core), read.suffix)
  const companies = [...snapshot.entries()]
    .map(([, entry]) => entry)
    .filter((entry): entry is Company => entry !== 'quarantined')
    .filter(({ status }) => wanted.status === undefined || status?.toLowerCase() === wanted.status)
  const judged = companies.flatMap((company) => {
    const equality = equalityOf(asked, company.legal_name)
    const similarity = equality ? 1 : measure(names.nameOf(company.company_number)).similarity
    if (similarity < (wanted.similar === 'beside_equal' ? 0.3 : 0.5)) return []
    const matchType = equality ?? 'fuzzy_name'
    const evidence = evidenceFor(company, wanted)
    const signals = {
      ...evidence,
      name_similarity: similarity,
      strict_name_exact: false,
      relaxed_name_exact: false,
      company_number_exact: false,
    }
    return [{ company, matchType, evidence, score: scoreOf(matchType, signals) }]
  })
  const hasEqual = judged.some(({ matchType }) => matchType !== 'fuzzy_name')
  const worth = (signal: boolean | null) => (signal === null ? 0 : signal ? 1 : -1)
  const evidenceOf = ({ evidence }: (typeof judged)[number]) =>
    3 * worth(evidence.eircode_exact) + worth(evidence.address_contains)
  return judged
    .filter(({ matchType }) => wanted.similar === 'beside_equal' || !hasEqual || matchType !== 'fuzzy_name')
    .toSorted(
      (one, other) =>
        other.score - one.score ||
        evidenceOf(other) - evidenceOf(one) ||
        Number(hasEnded(one.company)) - Number(hasEnded(other.company)) ||
        Number(one.company.company_number) - Number(other.company.company_number),
    )
    .slice(0, 10)
    .map(({ company, score, matchType }) => [company.company_number, score, matchType])
}

describe('the companies that a name finds', () => {
  it('are the ten best of all, as if every one had been measured', async () => {
    await fc.assert(
      fc.asyncProperty(anyRows, fc.array(anyWanted, { minLength: 40, maxLength: 40 }), async (rows, questions) => {
        const register = await registerOf(rows)
        try {
          for (const wanted of questions) {
            const { candidates, isTruncated } = find(register, wanted)
            const found = candidates.map(({ company, score, match_type }) => [
              company.company_number,
              score,
              match_type,
            ])
            expect(found, JSON.stringify(wanted)).to.deep.equal(exhaustively(register, wanted))
            expect(isTruncated).to.equal(false)
          }
        } finally {
          await register.close()
        }
      }),
      { numRuns: 8, endOnFailure: true },
    )
  })

  describe('in a register with more of a name than are read', () => {
    let register: TestRegister

    before(async () => {
      const many = Array.from({ length: 501 }, () => 'TWINS OF MANY LIMITED')
      // One name of them all: no bound rules any of them out.
      const common = Array.from({ length: 2001 }, () => 'ALPHA BRAVO LIMITED')
      register = await registerOf(rowsOf([...many, ...common]))
    })

    after(() => register.close())

    it('are said to be truncated: equal ones', () => {
      for (const similar of ['beside_equal', 'instead_of_equal'] as const) {
        const { candidates, isTruncated } = find(register, { name: 'Twins of Many Ltd', similar })
        expect(isTruncated).to.equal(true)
        expect(candidates.map(({ company }) => company.company_number)).to.deep.equal('12345678910'.match(/10|./g))
      }
    })

    it('are ambiguous for that reason, whatever the evidence', () => {
      const resolved = register.resolve({ name: 'Twins of Many Limited' })
      expect(resolved).to.include({ status: 'ambiguous', match: null, candidate_limit_reached: true })
      expect(register.search({ q: 'Twins of Many Limited', limit: 1 }).candidate_limit_reached).to.equal(true)
    })

    it('are said to be truncated: similar ones that were not measured', () => {
      const { isTruncated } = find(register, { name: 'Alpha Brava', similar: 'instead_of_equal' })
      expect(isTruncated).to.equal(true)
      const resolved = register.resolve({ name: 'Alpha Brava', eircode: 'D02 X285', address: 'Main Street' })
      expect(resolved).to.include({ status: 'ambiguous', match: null, candidate_limit_reached: true })
    })

    it('are all that matter where none that was left out could come among them', () => {
      const { isTruncated } = find(register, { name: 'Twins of Mani', similar: 'instead_of_equal' })
      expect(isTruncated).to.equal(false)
    })
  })

  it('are nothing once the time is up, at any look at the clock', async () => {
    const register = await registerOf(rowsOf(Array.from({ length: 600 }, () => 'ALPHA BRAVO LIMITED')))
    let looks = 0
    findCompanies(register, { name: 'Alpha Brava', similar: 'beside_equal' }, () => (looks += 1) < 0)
    expect(looks).to.be.above(2)
    for (let upAt = 1; upAt <= looks; upAt += 1) {
      let at = 0
      const found = findCompanies(register, { name: 'Alpha Brava', similar: 'beside_equal' }, () => (at += 1) >= upAt)
      expect(found).to.deep.equal({ kind: 'too_broad' })
    }
    await register.close()
  })
})
