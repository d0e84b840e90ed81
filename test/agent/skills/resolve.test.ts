/** Resolution, rule by rule of spec 4.3: one company or an honest word, and never a guess. */
import { expect } from 'chai'
import type { ResolveResponse } from '../../../agent/operation/result.ts'
import { bodyOf, numbersOf, registerOf, type Row, type TestRegister } from '../../support/companies.ts'

const AGENT = 'A94 T8P8'

const ROWS: Row[] = [
  // Alone, with all evidence
  { number: '100', name: 'KERRIGAN FOODS LIMITED', eircode: 'D02 X285', address: '1 MAIN STREET, CORK' },
  { number: '101', name: 'HARRINGTON MILLS LTD', eircode: 'T12 AB34', address: '2 MAIN STREET' },
  { number: '102', name: 'NOWHERE KNOWN LIMITED', address: '********NO ADDRESS DETAILS*******' },
  { number: '103', name: 'THE LAND AGENCY', eircode: 'D04 K7X2' },
  // Twins
  { number: '200', name: 'CLEARWATER POWER CONSULTING LIMITED', eircode: 'D01 A1A1' },
  { number: '201', name: 'CLEARWATER POWER CONSULTING LIMITED', eircode: 'D01 A1A1' },
  { number: '210', name: 'SHANE HOWETT AUTHOR LIMITED', eircode: 'D01 B2B2' },
  { number: '211', name: 'SHANE HOWETT AUTHOR LIMITED', eircode: 'D01 C3C3' },
  { number: '220', name: 'FÓSÚR LIMITED', eircode: 'D01 D4D4' },
  { number: '221', name: 'FOSUR LIMITED' },
  { number: '230', name: "MAMA JILLY'S LIMITED" },
  { number: '231', name: 'MAMA JILLYS LIMITED' },
  { number: '240', name: 'WIDE  SPACE LIMITED' },
  { number: '241', name: 'WIDE SPACE LIMITED' },
  // Families of legal forms
  { number: '300', name: 'MARLOW LIMITED' },
  { number: '301', name: 'MARLOW DESIGNATED ACTIVITY COMPANY' },
  { number: '302', name: 'MARLOW UNLIMITED COMPANY' },
  { number: '310', name: 'STRAND HOUSE TEORANTA' },
  { number: '311', name: 'STRAND HOUSE LIMITED' },
  // One letter apart
  { number: '400', name: 'BALLYGRENNAN FARM LIMITED', eircode: 'E21 A1A1', address: 'BALLYGRENNAN' },
  { number: '401', name: 'BALLYBRENNAN FARM LIMITED', eircode: 'E21 B2B2' },
  // One Eircode of many
  { number: '500', name: 'OAKWILLOW TRADING LIMITED', eircode: AGENT },
  { number: '501', name: 'OAKWILLOW RETAIL LIMITED', eircode: AGENT },
  { number: '502', name: 'ELMBRIDGE TRADING LIMITED', eircode: AGENT },
  { number: '510', name: 'WHARFSIDE LEASING NO 5 LIMITED', eircode: AGENT },
  { number: '511', name: 'WHARFSIDE LEASING NO 6 LIMITED', eircode: AGENT },
  // Quarantined
  { number: '600', name: 'TORN RECORD LIMITED' },
  { number: '600', name: 'TORN RECORD HOLDINGS LIMITED' },
  { number: '610', name: 'TWOFOLD LIMITED' },
  { number: '611', name: 'TWOFOLD LIMITED' },
  { number: '611', name: 'TWOFOLD DAC' },
  // Ties
  { number: '702', name: 'SEVENTH HEAVEN LIMITED' },
  { number: '701', name: 'SEVENTH HEAVEN LIMITED', status: 'Dissolved', dissolved: '2020-01-01' },
  { number: '703', name: 'SEVENTH HEAVEN LIMITED', eircode: 'V94 A1A1', address: 'BRIDGE STREET' },
  { number: '704', name: 'SEVENTH HEAVEN LIMITED', eircode: 'V94 B2B2' },
]

describe('resolve', () => {
  let register: TestRegister

  before(async () => {
    register = await registerOf(ROWS)
  })

  after(() => register.close())

  const resolve = (input: unknown): ResolveResponse => register.resolve(input)
  const scoresOf = ({ candidates }: ResolveResponse) => candidates.map(({ score }) => score)

  function expectMatch(resolved: ResolveResponse, number: string): void {
    expect(resolved.status).to.equal('matched')
    expect(resolved.match).to.deep.equal(resolved.candidates[0])
    expect(resolved.match?.company.company_number).to.equal(number)
  }

  function expectNoMatch(resolved: ResolveResponse, status: ResolveResponse['status'], numbers: string[]): void {
    expect(resolved.status).to.equal(status)
    expect(resolved.match).to.equal(null)
    expect(numbersOf(resolved)).to.deep.equal(numbers)
  }

  describe('rule 1, exact names are preferred and similar ones drawn only in their absence', () => {
    it('returns the exact name alone beside a name one letter off', () => {
      expect(numbersOf(resolve({ name: 'Ballygrennan Farm Limited' }))).to.deep.equal(['400'])
      expect(numbersOf(resolve({ name: 'Ballyprennan Farm Limited' }))).to.have.members(['400', '401'])
    })

    it('returns strict and relaxed names together', () => {
      const resolved = resolve({ name: 'Strand House Limited' })
      expect(resolved.candidates.map(({ match_type }) => match_type)).to.deep.equal(['strict_name', 'relaxed_name'])
    })
  })

  describe('rule 2, the scores', () => {
    it('are 1000 for a strict name, whatever case, spaces, fadas and punctuation', () => {
      for (const name of ['KERRIGAN FOODS LIMITED', ' kerrigan  fóods, limited. ', 'Kerrigan-Foods (Limited)']) {
        const resolved = resolve({ name })
        expectMatch(resolved, '100')
        expect(resolved.match).to.include({ score: 1000, match_type: 'strict_name' })
      }
    })

    it('are 960 for the same legal form in another shape, or without one in the query', () => {
      for (const name of ['Kerrigan Foods Ltd', 'Kerrigan Foods Teo.', 'Kerrigan Foods']) {
        const resolved = resolve({ name })
        expectMatch(resolved, '100')
        expect(resolved.match).to.include({ score: 960, match_type: 'relaxed_name' })
        expect(resolved.match?.signals).to.include({ strict_name_exact: false, relaxed_name_exact: true })
      }
    })

    it('are 850 times the similarity for a similar name, rounded down', () => {
      const resolved = resolve({ name: 'Kerigan Foods Limited' })
      expectNoMatch(resolved, 'ambiguous', ['100'])
      const [candidate] = resolved.candidates
      expect(candidate).to.include({ match_type: 'fuzzy_name' })
      expect(candidate?.signals).to.include({ strict_name_exact: false, relaxed_name_exact: false })
      expect(candidate?.signals.name_similarity).to.be.within(0.9, 0.9999)
      expect(candidate?.score).to.equal(Math.floor(850 * (candidate?.signals.name_similarity ?? 0)))
    })

    it('gain 80 by an equal Eircode and 40 by a contained address', () => {
      const name = 'Kerigan Foods Limited'
      const bare = scoresOf(resolve({ name }))[0] ?? 0
      expect(scoresOf(resolve({ name, eircode: 'd02x285' }))).to.deep.equal([bare + 80])
      expect(scoresOf(resolve({ name, address: 'main st' }))).to.deep.equal([bare])
      expect(scoresOf(resolve({ name, address: 'Main Street, Cork' }))).to.deep.equal([bare + 40])
      expect(scoresOf(resolve({ name, eircode: 'D02 X285', address: 'main street' }))).to.deep.equal([bare + 120])
    })

    it('never exceed 1000', () => {
      for (const name of ['Kerrigan Foods Limited', 'Kerrigan Foods'])
        expect(scoresOf(resolve({ name, eircode: 'D02X285', address: 'Main Street' }))).to.deep.equal([1000])
    })
  })

  describe('rule 3, a match', () => {
    it('takes a score of 900: a similar name has it by its evidence alone', () => {
      const name = 'Kerigan Foods Limited'
      expectNoMatch(resolve({ name, address: 'Main Street' }), 'ambiguous', ['100'])
      expectMatch(resolve({ name, eircode: 'D02X285', address: 'Main Street' }), '100')
    })

    it('takes a margin of 80: a relaxed name is too near a strict one', () => {
      expectNoMatch(resolve({ name: 'Strand House Limited' }), 'ambiguous', ['311', '310'])
      expectNoMatch(resolve({ name: 'Strand House Teoranta' }), 'ambiguous', ['310', '311'])
    })

    it('is found among other legal forms by the one that is asked for', () => {
      expectMatch(resolve({ name: 'Marlow Ltd' }), '300')
      expectMatch(resolve({ name: 'Marlow DAC' }), '301')
      expectMatch(resolve({ name: 'Marlow U.C.' }), '302')
      expectNoMatch(resolve({ name: 'Marlow' }), 'ambiguous', ['300', '301', '302'])
      expectNoMatch(resolve({ name: 'Marlow PLC' }), 'ambiguous', ['300', '301', '302'])
    })

    it('takes no contradiction: another Eircode', () => {
      const resolved = resolve({ name: 'Kerrigan Foods Limited', eircode: 'T12 AB34' })
      expectNoMatch(resolved, 'conflicting', ['100'])
      expect(resolved.candidates[0]?.conflicts).to.deep.equal(['eircode_mismatch'])
      expect(resolved.candidates[0]?.signals.eircode_exact).to.equal(false)
    })

    it('is not contradicted by an address that is not contained, nor by what nobody knows', () => {
      const elsewhere = resolve({ name: 'Kerrigan Foods Limited', address: 'Somewhere else' })
      expectMatch(elsewhere, '100')
      expect(elsewhere.match?.conflicts).to.deep.equal(['address_not_contained'])
      const unknown = resolve({ name: 'Nowhere Known Limited', eircode: 'T12 AB34', address: 'Main Street' })
      expectMatch(unknown, '102')
      expect(unknown.match?.signals).to.include({ eircode_exact: null, address_contains: null })
      expect(unknown.match?.conflicts).to.deep.equal([])
    })

    it('needs whole words of the address', () => {
      const contains = (address: string) =>
        resolve({ name: 'Kerrigan Foods', address }).candidates[0]?.signals.address_contains
      expect(['Main Street', 'MAIN STREET CORK', 'd02x285', '1 main'].map(contains)).to.not.include(false)
      expect(['Main Str', 'ain Street', 'Cork Main'].map(contains)).to.not.include(true)
    })

    it('is possible for a name that has no legal form in the register', () => {
      expectMatch(resolve({ name: 'The Land Agency' }), '103')
      const withForm = resolve({ name: 'The Land Agency Limited' })
      expectNoMatch(withForm, 'ambiguous', ['103'])
      expect(withForm.candidates[0]?.match_type).to.equal('fuzzy_name')
    })
  })

  describe('rule 4, otherwise', () => {
    it('nothing similar is no_match', () => {
      expectNoMatch(resolve({ name: 'Zyxwvu Tsrqpo' }), 'no_match', [])
    })

    const twins: [what: string, input: object, numbers: string[]][] = [
      ['one day and one Eircode', { name: 'Clearwater Power Consulting Limited', eircode: 'D01A1A1' }, ['200', '201']],
      ['two Eircodes, the first named', { name: 'Shane Howett Author Limited', eircode: 'D01B2B2' }, ['210', '211']],
      ['two Eircodes, the second named', { name: 'Shane Howett Author Limited', eircode: 'D01C3C3' }, ['211', '210']],
      ['a fada', { name: 'Fósúr Limited', eircode: 'D01D4D4' }, ['220', '221']],
      ['an apostrophe', { name: "Mama Jilly's Ltd" }, ['230', '231']],
      ['a space', { name: 'Wide  Space Limited' }, ['240', '241']],
    ]
    for (const [what, input, numbers] of twins) {
      it(`twins are ambiguous, told apart by ${what}`, () => {
        expectNoMatch(resolve(input), 'ambiguous', numbers)
      })
    }

    it('twins of which none has the Eircode are conflicting', () => {
      const input = { name: 'Shane Howett Author Limited', eircode: 'D01Z9Z9' }
      expectNoMatch(resolve(input), 'conflicting', ['210', '211'])
    })

    it('neighbours at one Eircode are not each other', () => {
      for (const name of [
        'Oakwillow Limited',
        'Oakwillow Farms Limited',
        'Elmbridge Retail Limited',
        'Trading Limited',
      ])
        expect(resolve({ name, eircode: AGENT }), name).to.include({ match: null })
      expectMatch(resolve({ name: 'Oakwillow Retail Limited', eircode: AGENT }), '501')
    })

    it('members of a series are not each other', () => {
      expectMatch(resolve({ name: 'Wharfside Leasing No 6 Limited', eircode: AGENT }), '511')
      for (const name of ['Wharfside Leasing No 7 Limited', 'Wharfside Leasing Limited', 'Wharfside Leasing No 56 Ltd'])
        expect(resolve({ name, eircode: AGENT }), name).to.include({ status: 'ambiguous', match: null })
    })

    it('a name one letter off is ambiguous by itself, and conflicts with the Eircode of its neighbour', () => {
      expect(resolve({ name: 'Ballyprennan Farm Limited' })).to.include({ status: 'ambiguous', match: null })
      const evidence = { eircode: 'E21A1A1', address: 'Ballygrennan' }
      expectMatch(resolve({ name: 'Ballygrenan Farm Limited', ...evidence }), '400')
      expect(resolve({ name: 'Ballygrenan Farm Limited', eircode: 'E21Z9Z9' })).to.include({ status: 'conflicting' })
    })
  })

  it('rule 5, candidate_limit_reached is false where every candidate was examined', () => {
    for (const { name } of ROWS) expect(resolve({ name }).candidate_limit_reached).to.equal(false)
  })

  describe('rule 6, quarantined records', () => {
    it('are no candidates', () => {
      expectNoMatch(resolve({ name: 'Torn Record Limited' }), 'no_match', [])
      expectMatch(resolve({ name: 'Twofold Limited' }), '610')
    })

    it('are refused by number, without an answer to charge for', () => {
      const prepared = register.prepare('resolve', { company_number: '600', name: 'Torn Record Limited' })
      expect(prepared.kind === 'refused' && prepared.refusal.code).to.equal('source_data_conflict')
    })
  })

  it('rule 7, every result but a refusal is an answer to sell, with its snapshot', () => {
    for (const name of ['Kerrigan Foods', 'Marlow', 'Zyxwvu Tsrqpo']) {
      const prepared = register.prepare('resolve', { name })
      expect(prepared.kind === 'prepared' && prepared.snapshotId).to.equal(register.snapshot.info.snapshot_id)
    }
    const conflicting = register.prepare('resolve', { name: 'Kerrigan Foods', eircode: 'T12 AB34' })
    expect(conflicting.kind).to.equal('prepared')
  })

  it('refuses what takes too long, without an answer to charge for', () => {
    const prepared = register.prepare('resolve', { name: 'Kerigan Foods' }, () => true)
    expect(prepared).to.deep.equal({ kind: 'refused', refusal: { code: 'query_too_broad' } })
  })

  describe('ties', () => {
    it('are ordered by score, evidence, live before dissolved, lower number', () => {
      const name = 'Seventh Heaven Limited'
      expectNoMatch(resolve({ name }), 'ambiguous', ['702', '703', '704', '701'])
      expect(numbersOf(resolve({ name, eircode: 'V94B2B2' }))).to.deep.equal(['704', '702', '701', '703'])
      expect(numbersOf(resolve({ name, address: 'Bridge Street' }))).to.deep.equal(['703', '702', '704', '701'])
    })
  })

  describe('an explicit number', () => {
    it('is a match by itself', () => {
      const resolved = resolve({ company_number: '100' })
      expectMatch(resolved, '100')
      expect(resolved.match).to.include({ score: 1000, match_type: 'company_number' })
      expect(resolved.match?.signals).to.deep.equal({
        name_similarity: 0,
        strict_name_exact: false,
        relaxed_name_exact: false,
        eircode_exact: null,
        address_contains: null,
        company_number_exact: true,
      })
    })

    it('that is not there is no_match, whoever bears the name', () => {
      expectNoMatch(resolve({ company_number: '999', name: 'Kerrigan Foods Limited' }), 'no_match', [])
      expectNoMatch(resolve({ company_number: '0100' }), 'no_match', [])
    })

    it('tells twins apart', () => {
      expectMatch(resolve({ company_number: '201', name: 'Clearwater Power Consulting' }), '201')
    })

    const sameNames = [
      'Kerrigan Foods',
      'KERRIGAN FOODS LTD',
      'Kerigan Foods Limited',
      'Kerrigan Foods Limted',
      'Foods Kerrigan',
      'KerriganFoods Limited',
      'Kerrigan Foods DAC',
    ]
    for (const name of sameNames) {
      it(`agrees with the name ${name}`, () => {
        const resolved = resolve({ company_number: '100', name })
        expectMatch(resolved, '100')
        expect(resolved.match?.conflicts).to.deep.equal([])
      })
    }

    for (const name of [
      'Harrington Mills Ltd',
      'Kerrigan',
      'Kerrigan Foods Ireland',
      'Zyxwvu',
      'Kerrigan Farms Limited',
    ]) {
      it(`conflicts with the name ${name}`, () => {
        const resolved = resolve({ company_number: '100', name })
        expectNoMatch(resolved, 'conflicting', ['100'])
        expect(resolved.candidates[0]?.conflicts).to.deep.equal(['name_mismatch'])
      })
    }

    it('conflicts with another Eircode, not with another address', () => {
      const elsewhere = { company_number: '100', name: 'Kerrigan Foods' }
      expectNoMatch(resolve({ ...elsewhere, eircode: 'T12AB34' }), 'conflicting', ['100'])
      expectMatch(resolve({ ...elsewhere, address: 'Somewhere else' }), '100')
    })
  })

  it('echoes the canonical input', () => {
    const { query } = resolve({ address: ' Main  Street ', eircode: 'd02 x285', name: '  Kerrigan   FOODS ' })
    expect(query).to.deep.equal({ name: 'Kerrigan FOODS', eircode: 'D02X285', address: 'Main Street' })
  })

  it('gives the same bytes for the same input on the same data', async () => {
    const again = await registerOf(ROWS.toReversed())
    for (const { name } of ROWS) {
      const [one, other] = [register, again].map((each) => bodyOf(each.prepare('resolve', { name, eircode: AGENT })))
      expect(one).to.equal(other)
    }
    await again.close()
  })
})
