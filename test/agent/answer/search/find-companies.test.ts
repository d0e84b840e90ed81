/** Finding companies by name: the result equals an exhaustive scan, and every limit that is reached is reported. */
import { expect } from 'chai'
import { readTypedNumber } from '../../../../agent/operation/typed-number.ts'
import fc from 'fast-check'
import {
  exactMatchType,
  hasSameForm,
  isEqualWhenJoined,
  joinedNames,
} from '../../../../agent/answer/search/equal-names.ts'
import { parseQueryName, type QueryName } from '../../../../agent/answer/search/typed-name.ts'
import { findCompanies, type CompanyQuery } from '../../../../agent/answer/search/find-companies.ts'
import { compareEvidence, computeScore } from '../../../../agent/answer/search/candidate.ts'
import { isDissolved, type Company } from '../../../../store/dataset/company.ts'
import { OperationBudget, type QueryBudgets } from '../../../../store/index/operation-budget.ts'
import { joinedKey } from '../../../../store/index/name-keys.ts'
import { parseName } from '../../../../store/index/normalise-name.ts'
import { companyNumbers, openTestRegister, toRows, type Row, type TestRegister } from '../../../support/companies.ts'
import { anyName } from '../../../support/names.ts'
import { searchMeasure } from '../../../support/search-similarity.ts'

const anyRows: fc.Arbitrary<Row[]> = fc
  .array(
    fc.record({
      name: anyName,
      status: fc.constantFrom('Normal ', 'Dissolved', 'Liquidation'),
      dissolved: fc.constantFrom('', '', '2020-01-01'),
      eircode: fc.constantFrom('D02 X285', 'T12 AB34', ''),
      address: fc.constantFrom('1 MAIN STREET', 'MAIN STREET, CORK', ''),
    }),
    { minLength: 150, maxLength: 150 },
  )
  .map((rows) => rows.map((row, at) => ({ ...row, number: String(at + 1) })))

const anyQuery: fc.Arbitrary<CompanyQuery> = fc.record({
  name: anyName,
  eircode: fc.constantFrom(undefined, 'D02X285', 'T12AB34'),
  address: fc.constantFrom(undefined, 'main street', 'cork'),
  status: fc.constantFrom(undefined, 'normal', 'dissolved'),
  fuzzy: fc.constantFrom('always', 'without_exact'),
})

const find = (register: TestRegister, query: CompanyQuery) => {
  const found = findCompanies(register, query, { now: () => new Date(0) })
  if (found.kind !== 'found') throw new Error('The clock stands still, so the time limit cannot be exceeded')
  return found
}

interface Companies {
  companies: readonly Company[]
  registered: readonly Company[]
}

/** The exact match of each company: by the whole query, else by the only name but for "the". */
function exactTypes(parsed: QueryName, { companies, registered }: Companies) {
  const typeOf = ({ legal_name }: Company) => exactMatchType(parsed, legal_name)
  if (companies.some((company) => typeOf(company) !== undefined)) return typeOf
  const coreOf = ({ legal_name }: Company) => parseName(legal_name).core.join(' ')
  for (const { core, suffix } of parsed.whole) {
    const other = core[0] === 'the' ? core.slice(1).join(' ') : `the ${core.join(' ')}`
    const same = registered.filter((company) => [core.join(' '), other].includes(coreOf(company)))
    const [only] = same.length === 1 && other !== '' ? same : []
    if (only === undefined || !companies.includes(only) || coreOf(only) !== other) continue
    if (!hasSameForm({ core, suffix }, parseName(only.legal_name))) continue
    return (company: Company) => (company === only ? ('relaxed_name' as const) : undefined)
  }
  return () => undefined
}

/** The companies with the letters of the query, without spaces and "and". */
function sameLetters(parsed: QueryName, { registered }: Companies): readonly Company[] {
  const keys = new Set(joinedNames(parsed).map(({ core }) => joinedKey(core)))
  // Two of each are read.
  return [...keys].flatMap((key) =>
    registered.filter(({ legal_name }) => joinedKey(parseName(legal_name).core) === key).slice(0, 2),
  )
}

/** The reference: scores every company and sorts. Returns number, score and match type of the ten best. */
function scanAll({ snapshot, names }: TestRegister, query: CompanyQuery) {
  const parsed = parseQueryName(query.name)
  const registered = [...snapshot.entries()]
    .map(([, entry]) => entry)
    .filter((entry): entry is Company => entry !== 'quarantined')
  const companies = registered.filter(
    ({ status }) => query.status === undefined || status?.toLowerCase() === query.status,
  )
  const exactTypeOf = exactTypes(parsed, { companies, registered })
  const same = sameLetters(parsed, { companies, registered })
  const isSame = (company: Company) =>
    same.includes(company) && joinedNames(parsed).some((each) => hasSameForm(each, parseName(company.legal_name)))
  const measure = searchMeasure(names, parsed.similar, (name) =>
    same.some(({ company_number }) => company_number !== names.companyNumber(name)),
  )
  const isJoinable = (company: Company) =>
    same.length === 1 && joinedNames(parsed).some((each) => isEqualWhenJoined(each, company.legal_name))
  const measured = companies.map((company) => ({
    company,
    exact: exactTypeOf(company),
    found: measure(names.findByNumber(company.company_number)!),
  }))
  const isAlone = measured.every(({ company, exact, found }) => !exact && !isSame(company) && !found.isContaining)
  const scored = measured.flatMap(({ company, exact, found }) => {
    const inResolve = found.resolved < 0.67 ? 0 : found.resolved
    const joined = isJoinable(company) ? 0.9999 : 0.9165
    const other = query.fuzzy === 'always' ? found.similarity(isAlone) : inResolve
    const similar = isSame(company) ? joined : other
    const similarity = exact ? 1 : similar
    if (similarity === 0) return []
    const matchType = exact ?? 'fuzzy_name'
    const evidence = compareEvidence(company, query)
    const signals = {
      ...evidence,
      name_similarity: similarity,
      strict_name_exact: false,
      relaxed_name_exact: false,
      company_number_exact: false,
    }
    return [{ company, matchType, evidence, score: computeScore(matchType, signals) }]
  })
  const hasExact = scored.some(({ matchType }) => matchType !== 'fuzzy_name')
  const rank = (signal: boolean | null) => (signal === null ? 0 : signal ? 1 : -1)
  const evidenceRank = ({ evidence }: (typeof scored)[number]) =>
    3 * rank(evidence.eircode_exact) + rank(evidence.address_contains)
  return scored
    .filter(({ matchType }) => query.fuzzy === 'always' || !hasExact || matchType !== 'fuzzy_name')
    .toSorted(
      (one, other) =>
        other.score - one.score ||
        evidenceRank(other) - evidenceRank(one) ||
        Number(isDissolved(one.company)) - Number(isDissolved(other.company)) ||
        Number(one.company.company_number) - Number(other.company.company_number),
    )
    .slice(0, 10)
    .map(({ company, score, matchType }) => [company.company_number, score, matchType])
}

function beginsWithName(rows: readonly { name: string }[], text: string): boolean {
  const words = parseQueryName(text).whole.flatMap(({ core }) => [`${core.join(' ')} `])
  return rows.some(({ name }) =>
    words.some(
      (each) => each.startsWith(`${parseName(name).core.join(' ')} `) && each.trim() !== parseName(name).core.join(' '),
    ),
  )
}

describe('finding companies by name', () => {
  it('[12.3, 12.8] returns the same ten companies as an exhaustive scan', async function () {
    // Eight imports, which take long on a loaded machine.
    this.timeout(240_000)
    await fc.assert(
      fc.asyncProperty(anyRows, fc.array(anyQuery, { minLength: 40, maxLength: 40 }), async (rows, queries) => {
        const register = await openTestRegister(rows)
        try {
          for (const query of queries) {
            // A number names a company, whatever its name is.
            if (readTypedNumber(query.name)) continue
            // Text behind a name without a form has tests of its own.
            if (beginsWithName(rows, query.name)) continue
            const { candidates, isTruncated } = find(register, query)
            const found = candidates.map(({ company, score, match_type }) => [
              company.company_number,
              score,
              match_type,
            ])
            expect(found, JSON.stringify(query)).to.deep.equal(scanAll(register, query))
            expect(isTruncated).to.equal(false)
          }
        } finally {
          await register.close()
        }
      }),
      { numRuns: 8, endOnFailure: true },
    )
  })

  describe('in a register with more equal names than the limits', () => {
    let register: TestRegister

    before(async () => {
      const sameName = Array.from({ length: 201 }, () => 'TWINS OF MANY LIMITED')
      // All have the same upper bound, so none can be excluded by it.
      const sameBound = Array.from({ length: 2001 }, () => 'ALPHA BRAVO LIMITED')
      register = await openTestRegister(toRows([...sameName, ...sameBound]))
    })

    after(() => register.close())

    it('[12.5, 12.9] resolves a query that exceeds a limit as ambiguous, whatever the evidence', () => {
      const evidence = { eircode: 'D02 X285', address: 'Main Street' }
      for (const input of [{ name: 'Twins of Many Limited' }, { name: 'Alpha Brava', ...evidence }])
        expect(register.resolve(input)).to.include({ status: 'ambiguous', match: null, candidate_limit_reached: true })
      expect(register.search({ q: 'Twins of Many Limited', limit: 1 }).candidate_limit_reached).to.equal(true)
    })
  })

  it('[12.8] orders names with one score, and without evidence reads few of their records', async () => {
    const kinds = [{ status: 'Dissolved' }, { dissolved: '2020-01-01' }, {}, { status: 'Liquidation' }]
    const rows = toRows(Array.from({ length: 240 }, () => 'ALPHA BRAVO LIMITED'))
    for (const [at, row] of rows.entries())
      Object.assign(row, kinds[at % kinds.length], at > 200 && { eircode: 'D02 X285' })
    const register = await openTestRegister(rows)
    const liquidation = { status: 'liquidation' }
    for (const filter of [{}, { status: 'normal' }, liquidation, { ...liquidation, eircode: 'D02X285' }]) {
      const query = { name: 'Alpha Brava', fuzzy: 'always', ...filter } as const
      const { candidates, isTruncated } = find(register, query)
      const found = candidates.map(({ company, score, match_type }) => [company.company_number, score, match_type])
      expect(found).to.deep.equal(scanAll(register, query)).and.have.lengthOf(10)
      expect(isTruncated).to.equal(false)
    }
    await register.close()
  })

  describe('with a limited number of operations', () => {
    let register: TestRegister

    before(async () => {
      const names = 'KERRY FOODS/KERRI FOODS/KERRY FOOD/CLEAR POINT FOODS/CORK FARMS/CLEARPOINT/KERRY FOODS'.split('/')
      register = await openTestRegister(toRows(names.map((name) => `${name} LIMITED`)))
    })

    after(() => register.close())

    const PARTS = ['spelling', 'postings', 'pairs', 'records'] as const
    const findWithin = (name: string, limits: Partial<Record<(typeof PARTS)[number], number>>) => {
      const budgets = Object.fromEntries(
        PARTS.map((part) => [part, new OperationBudget(limits[part] ?? OPERATIONS)]),
      ) as unknown as QueryBudgets
      const query = { name, fuzzy: 'always' } as const
      const found = findCompanies(register, query, { now: () => new Date(0), budgets })
      if (found.kind !== 'found') throw new Error('The clock stands still')
      return { ...found, numbers: companyNumbers(found), budgets }
    }
    /** More than any query of this register needs. */
    const OPERATIONS = 1_000_000

    for (const part of PARTS) {
      it(`[12.9] gives the whole answer at and above the limit of ${part}, and reports a limit below as truncation`, () => {
        const name = 'Kerry Clearpoint Fods'
        const whole = findWithin(name, {})
        const needed = OPERATIONS - whole.budgets[part].left
        expect(needed).to.be.above(1)
        for (const limit of [needed, needed + 1]) {
          const found = findWithin(name, { [part]: limit })
          expect(found.numbers).to.deep.equal(whole.numbers)
          expect(found.isTruncated).to.equal(false)
        }
        for (const limit of [needed - 1, 1, 0]) {
          const found = findWithin(name, { [part]: limit })
          expect(found.isTruncated, `${limit}`).to.equal(true)
          expect(findWithin(name, { [part]: limit }).numbers).to.deep.equal(found.numbers)
        }
      })
    }
  })
})
