/** The skill `resolve`: candidates, scores, evidence, conflicts and status (contract 4.3 and 12). */
import { expect } from 'chai'
import type { ResolveResponse } from '../../../agent/operation/resolve.ts'
import { companyNumbers, openTestRegister, type Row, type TestRegister } from '../../support/companies.ts'

const ROWS: Row[] = [
  // Unique names, with all evidence
  { number: '100', name: 'KERRIGAN FOODS LIMITED', eircode: 'D02 X285', address: '1 MAIN STREET, CORK' },
  { number: '101', name: 'HARRINGTON MILLS LTD', eircode: 'T12 AB34', address: '2 MAIN STREET' },
  { number: '102', name: 'NOWHERE KNOWN LIMITED', address: '********NO ADDRESS DETAILS*******' },
  { number: '103', name: 'THE LAND AGENCY', eircode: 'D04 K7X2' },
  { number: '105', name: 'BRENNER GMBH LIMITED', eircode: 'D04 K7X2' },
  { number: '106', name: 'GREYTOWN AG LIMITED' },
  { number: '104104', name: 'SABLE AERO III LIMITED', address: '1 QUAY, DUBLIN 2' },
  // Equal names
  { number: '200', name: 'CLEARWATER POWER CONSULTING LIMITED', eircode: 'D01 A1A1' },
  { number: '201', name: 'CLEARWATER POWER CONSULTING LIMITED', eircode: 'D01 A1A1' },
  // The same words with several legal forms
  { number: '300', name: 'MARLOW LIMITED' },
  { number: '301', name: 'MARLOW DESIGNATED ACTIVITY COMPANY' },
  { number: '302', name: 'MARLOW UNLIMITED COMPANY' },
  { number: '310', name: 'STRAND HOUSE TEORANTA' },
  { number: '311', name: 'STRAND HOUSE LIMITED' },
  // Names one letter apart
  { number: '400', name: 'BALLYGRENNAN FARM LIMITED', eircode: 'E21 A1A1', address: 'BALLYGRENNAN' },
  { number: '401', name: 'BALLYBRENNAN FARM LIMITED', eircode: 'E21 B2B2' },
  // Names with "and", and written in one or two words
  { number: '450', name: 'FENWICK & LOWRY DESIGN LIMITED', eircode: 'P31 A1A1', address: 'WEIR LANE' },
  { number: '451', name: 'STONEBRIDGE WATERWORKS LIMITED', eircode: 'P31 B2B2', address: 'WEIR LANE' },
  { number: '452', name: 'PINE HOLLOW GARDENS LIMITED' },
  { number: '453', name: 'PINEHOLLOW GARDENS LIMITED', status: 'Dissolved', dissolved: '2020-01-01' },
  { number: '454', name: 'CNOC SÉ LIMITED' },
  // Quarantined
  { number: '600', name: 'TORN RECORD LIMITED' },
  { number: '600', name: 'TORN RECORD HOLDINGS LIMITED' },
  { number: '610', name: 'TWOFOLD LIMITED' },
  { number: '611', name: 'TWOFOLD LIMITED' },
  { number: '611', name: 'TWOFOLD DAC' },
]

describe('resolve', () => {
  let register: TestRegister

  before(async () => {
    register = await openTestRegister(ROWS)
  })

  after(() => register.close())

  const resolve = (input: unknown): ResolveResponse => register.resolve(input)
  const scores = (input: object) => resolve(input).candidates.map(({ score }) => score)

  function expectMatch(resolved: ResolveResponse, number: string): void {
    expect(resolved.status).to.equal('matched')
    expect(resolved.match).to.deep.equal(resolved.candidates[0])
    expect(resolved.match?.company.company_number).to.equal(number)
  }

  function expectNoMatch(resolved: ResolveResponse, status: ResolveResponse['status'], numbers: string[]): void {
    expect(resolved.status).to.equal(status)
    expect(resolved.match).to.equal(null)
    expect(companyNumbers(resolved)).to.deep.equal(numbers)
  }

  describe('the score', () => {
    const exact: [match_type: string, score: number, names: string[]][] = [
      ['strict_name', 1000, ['KERRIGAN FOODS LIMITED', ' kerrigan  fóods, limited. ', 'Kerrigan-Foods (Limited)']],
      ['relaxed_name', 960, ['Kerrigan Foods Ltd', 'Kerrigan Foods Teo.', 'Kerrigan Foods']],
    ]
    for (const [match_type, score, names] of exact) {
      it(`[12.1, 12.2] is ${score} for a ${match_type}`, () => {
        for (const name of names) {
          const resolved = resolve({ name })
          expectMatch(resolved, '100')
          expect(resolved.match).to.include({ score, match_type })
          const strict_name_exact = match_type === 'strict_name'
          expect(resolved.match?.signals).to.include({ strict_name_exact, relaxed_name_exact: true })
        }
      })
    }

    it('[12.2] is 850 times the similarity for a similar name, rounded down', () => {
      const resolved = resolve({ name: 'Kerigan Foods Limited' })
      expectNoMatch(resolved, 'ambiguous', ['100'])
      const [candidate] = resolved.candidates
      expect(candidate).to.include({ match_type: 'fuzzy_name' })
      expect(candidate?.signals).to.include({ strict_name_exact: false, relaxed_name_exact: false })
      expect(candidate?.signals.name_similarity).to.be.within(0.9, 0.9999)
      expect(candidate?.score).to.equal(Math.floor(850 * (candidate?.signals.name_similarity ?? 0)))
    })

    it('[12.2] gains 80 for an equal Eircode and 40 for a contained address, up to 1000', () => {
      const name = 'Kerigan Foods Limited'
      const bare = scores({ name })[0] ?? 0
      expect(scores({ name, eircode: 'd02x285' })).to.deep.equal([bare + 80])
      expect(scores({ name, address: 'main' })).to.deep.equal([bare + 40])
      expect(scores({ name, address: 'Main Street, Cork' })).to.deep.equal([bare + 40])
      const evidence = { eircode: 'D02 X285', address: 'main street' }
      expect(scores({ name, ...evidence })).to.deep.equal([bare + 120])
      for (const equal of ['Kerrigan Foods Limited', 'Kerrigan Foods'])
        expect(scores({ name: equal, ...evidence })).to.deep.equal([1000])
    })
  })

  describe('a match', () => {
    it('[12.1] is selected by the legal form in the query', () => {
      expectMatch(resolve({ name: 'Marlow Ltd' }), '300')
      expectMatch(resolve({ name: 'Marlow DAC' }), '301')
      expectMatch(resolve({ name: 'Marlow U.C.' }), '302')
      expectMatch(resolve({ name: 'Marlow Limit' }), '300')
      expectMatch(resolve({ name: 'Marlow Designated Activity Comp' }), '301')
      expectNoMatch(resolve({ name: 'Marlow' }), 'ambiguous', ['300', '301', '302'])
      expectNoMatch(resolve({ name: 'Marlow PLC' }), 'ambiguous', ['300', '301', '302'])
    })

    it('[12.4, 12.10] is found beside an address, although evidence is missing or differs', () => {
      expectMatch(resolve({ name: 'Harrington Mills Ltd, 2, Main Street' }), '101')
      expectNoMatch(resolve({ name: 'Harrington Mills Ltd, 3, Main Street' }), 'ambiguous', ['101'])
      expectMatch(resolve({ name: 'Kerrigan Foods Ltd 0851234567, €500.00, LEI 529900T8BM49AURSDO55' }), '100')
      const elsewhere = resolve({ name: 'Kerrigan Foods Limited', address: 'Somewhere else' })
      expectMatch(elsewhere, '100')
      expect(elsewhere.match?.signals.address_contains).to.equal(false)
      expect(elsewhere.match?.conflicts).to.deep.equal([])
      const unknown = resolve({ name: 'Nowhere Known Limited', eircode: 'T12 AB34', address: 'Main Street' })
      expectMatch(unknown, '102')
      expect(unknown.match?.signals).to.include({ eircode_exact: null, address_contains: null })
      expect(unknown.match?.conflicts).to.deep.equal([])
    })

    it('[12.2] compares the address by whole words', () => {
      const contains = (address: string) =>
        resolve({ name: 'Kerrigan Foods', address }).candidates[0]?.signals.address_contains
      expect(['Main Street', 'MAIN STREET CORK', 'd02x285', '1 main'].map(contains)).to.not.include(false)
      expect(['Main Stre', 'ain Street', 'Cork Main'].map(contains)).to.not.include(true)
    })

    it('[12.15] uses a number beside a name that agrees as the number of the company', () => {
      const twin = (number: string) => resolve({ name: `Clearwater Power Consulting Limited (CRO No. ${number})` })
      expectMatch(twin('200'), '200')
      expectMatch(twin('201'), '201')
      for (const name of [
        'Kerrigan Foods Ltd (Company No. 100)',
        'CRO 100 Kerrigan Foods',
        'Kerrigan (Reg. No. 100)',
      ]) {
        expectMatch(resolve({ name }), '100')
        expect(resolve({ name }).match, name).to.include({ match_type: 'company_number', score: 1000 })
      }
      expectNoMatch(resolve({ name: 'Zyxwvu Limited (CRO No. 100)' }), 'no_match', [])
    })

    it('[12.4] conflicts with the number of another company in the text', () => {
      for (const name of ['Kerrigan Foods Limited (CRO No. 999)', 'Kerrigan Foods Ltd, Company number 200']) {
        const resolved = resolve({ name })
        expectNoMatch(resolved, 'conflicting', ['100'])
        expect(resolved.candidates[0]?.conflicts, name).to.deep.equal(['number_mismatch'])
      }
      const explicit = resolve({ company_number: '100', name: 'Kerrigan Foods Limited (CRO No. 999)' })
      expect(explicit.candidates[0]?.conflicts).to.deep.equal(['number_mismatch'])
    })

    it('[12.11] does not ignore them with another legal form, or when two companies have the name, live or dissolved', () => {
      const stonebridge = resolve({ name: 'Stone Bridge Waterworks DAC' })
      expectNoMatch(stonebridge, 'ambiguous', ['451'])
      expect(stonebridge.candidates[0]?.score).to.be.below(780)
      const pineHollow = resolve({ name: 'Pine Hollowgardens Limited' })
      expectNoMatch(pineHollow, 'ambiguous', ['452', '453'])
      expect(pineHollow.candidates[0]?.score).to.be.below(849)
      expectMatch(resolve({ name: 'Pinehollow Gardens Ltd' }), '453')
    })

    it('[12.1] reads SE at the end as a word when no name equals it as a legal form', () => {
      for (const name of ['CNOC SÉ', 'Cnoc Se', 'Cnoc Sé Teo.']) expectMatch(resolve({ name }), '454')
    })

    it('[12.1] is possible for a registered name without a legal form', () => {
      expectMatch(resolve({ name: 'The Land Agency' }), '103')
      const withForm = resolve({ name: 'The Land Agency Limited' })
      expectNoMatch(withForm, 'ambiguous', ['103'])
      expect(withForm.candidates[0]?.match_type).to.equal('fuzzy_name')
      expectNoMatch(resolve({ name: 'Brenner GmbH' }), 'ambiguous', ['105'])
      expectMatch(resolve({ name: 'Brenner GmbH', eircode: 'D04 K7X2' }), '105')
      expectNoMatch(resolve({ name: 'Greytown AG' }), 'ambiguous', ['106'])
    })
  })

  describe('quarantined records', () => {
    it('[11.3] are never candidates', () => {
      expectNoMatch(resolve({ name: 'Torn Record Limited' }), 'no_match', [])
      expectMatch(resolve({ name: 'Twofold Limited' }), '610')
    })
  })

  describe('an explicit number', () => {
    it('[4.3.4] matches without a name', () => {
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

    it('[4.3.4] that is not in the snapshot is refused, also with other leading zeros or the name of a company', () => {
      const unknown = [{ company_number: '999' }, { company_number: '0100' }, { company_number: '0' }]
      for (const input of [...unknown, { company_number: '999', name: 'Kerrigan Foods Limited' }]) {
        const prepared = register.prepare('resolve', input)
        expect(prepared.kind === 'refused' && prepared.refusal.code).to.equal('company_not_found')
      }
    })

    const SAME =
      'Kerrigan Foods/KERRIGAN FOODS LTD/Kerigan Foods Limited/Kerrigan Foods Limted/Foods Kerrigan/' +
      'KerriganFoods Limited/Kerrigan/Kerrigan Foo/Kerrigan Foods Limi/Kerrigan Foods Ltd trading as Zyx/' +
      'Kerrigan Foods Limited, 1 Main Street/Kerrigan Foods 1 Main St Cork/The Kerrigan Foods'
    const DOUBTFUL =
      'Kerrigan Foods Ltd ESOP/Kerrigan Foods DAC/Kerrigan Foods Limited II/Kerigan Foods Ltd ESOP/' +
      'Kerrigan Foods Limited (In Liquidation)/Kerrigan Foods Limited, Dublin 2/Zyx trading as Kerrigan Foods Ltd'
    const OTHER =
      'Harrington Mills Ltd/Kerrigan Foods X/Kerrigan Foods Ireland/Zyxwvu/Kerrigan Farms Limited/Kerrigan Foods ESOP Ltd/Kerrigan Foods Cork Ltd/Ireland/' +
      'Kerrigan Foods 2/Kerrigan Foods Holdings/Kerrigan Foods 1/Ker/Ker Ltd/Merrigan Foods Ltd/Cork Foods Ltd/Irish Foods Ltd'
    it('[12.4, 12.21] agrees with a similar name, doubts words that nothing explains, and conflicts with another name', () => {
      for (const name of DOUBTFUL.split('/')) {
        const resolved = resolve({ company_number: '100', name, eircode: 'D02 X285', address: 'Main Street' })
        expectNoMatch(resolved, 'ambiguous', ['100'])
        const { score, conflicts, signals } = resolved.candidates[0]!
        expect(score - 120, name).to.be.at.most(779)
        expect(conflicts).to.deep.equal([])
        expect(signals.company_number_exact).to.equal(true)
      }
      for (const name of SAME.split('/')) {
        const resolved = resolve({ company_number: '100', name })
        expectMatch(resolved, '100')
        expect(resolved.match?.conflicts, name).to.deep.equal([])
      }
      for (const name of OTHER.split('/')) {
        const resolved = resolve({ company_number: '100', name })
        expectNoMatch(resolved, 'conflicting', ['100'])
        expect(resolved.candidates[0]?.conflicts, name).to.deep.equal(['name_mismatch'])
      }
      // A name that lacks the number or most of the name of the record.
      for (const name of ['Sable Aero 3, Dublin 2', '104104 Sable Aero III'])
        expectMatch(resolve({ company_number: '104104', name }), '104104')
      for (const name of ['Sable Aero', 'Sable Aero Ltd', 'Sable Aero II', 'Sable Aero 2 Ltd', 'III Ltd'])
        expectNoMatch(resolve({ company_number: '104104', name }), 'conflicting', ['104104'])
    })

    it('[12.4] conflicts with a similar name that another company has', () => {
      for (const name of ['Ballybrennan Farm Limited', 'Ballybrennan Farm Ltd', 'Ballybrennan Farm']) {
        const resolved = resolve({ company_number: '400', name })
        expectNoMatch(resolved, 'conflicting', ['400'])
        expect(resolved.candidates[0]).to.deep.include({ score: 1000, conflicts: ['name_mismatch'] })
        expectMatch(resolve({ company_number: '401', name }), '401')
      }
      expectNoMatch(resolve({ company_number: '100', name: 'Marlow' }), 'conflicting', ['100'])
      // Name and text together.
      expectNoMatch(resolve({ company_number: '103', name: 'The Land Agency, Kerrigan Foods' }), 'conflicting', ['103'])
      expectMatch(resolve({ company_number: '400', name: 'Ballyprennan Farm Limited' }), '400')
    })

    it('[12.4] agrees with the name of its company that another one has too', () => {
      for (const number of ['200', '201'])
        expectMatch(resolve({ company_number: number, name: 'Clearwater Power Consulting Ltd' }), number)
      for (const number of ['300', '301', '302'])
        expectMatch(resolve({ company_number: number, name: 'Marlow' }), number)
      expectNoMatch(resolve({ company_number: '300', name: 'Marlow DAC' }), 'conflicting', ['300'])
    })
  })
})

describe('resolve, for names that differ little', () => {
  const evidence = { eircode: 'H91 A1A1', address: 'Quay Street' }
  const rowsOf = (...names: string[]): Row[] =>
    names.map((name, at) => ({ number: String(at + 1), name, eircode: 'H91 A1A1', address: 'QUAY STREET' }))
  const withRegister = async (rows: Row[], use: (register: TestRegister) => void) => {
    const register = await openTestRegister(rows)
    try {
      use(register)
    } finally {
      await register.close()
    }
  }

  const OTHER_COMPANIES: [query: string, registered: string][] = [
    ['CRO III PATENT HOLDINGS LIMITED', 'CROÍ II PATENT HOLDINGS LIMITED'],
    ['L WALSH AGRI YOUGHAL LIMITED', 'LWALSH AGRI YOUGHAL LIMITED'],
    ['GS PL LIMITED', 'GSPL LIMITED'],
    ['HARBOUR INVESTMENTS 1 5 LIMITED', 'HARBOUR INVESTMENTS 15 LIMITED'],
    ['ROUTE66 DINERS LIMITED', 'ROUTE 66 DINERS LIMITED'],
    ['MVSO 110 LIMITED', 'MVISO 110 LIMITED'],
    ['KERRIGAN PHASEB FOODS LIMITED', 'KERRIGAN PHASE8 FOODS LIMITED'],
    ['KERRIGAN GLE FOODS LIMITED', 'KERRIGAN GLEN FOODS LIMITED'],
    ['KERRIGAN FOODS+ LIMITED', 'KERRIGAN FOODS LIMITED'],
    ['KERRI GAN FOODS+ LIMITED', 'KERRIGAN FOODS LIMITED'],
  ]
  for (const [query, registered] of OTHER_COMPANIES) {
    it(`[12.7, 12.11] does not match ${registered} for ${query}, whatever the evidence`, async () => {
      await withRegister(rowsOf(registered), (register) => {
        const found = register.resolve({ name: query, ...evidence })
        expect(found.status).to.be.oneOf(['ambiguous', 'no_match'])
        expect(found.candidates[0]?.score ?? 0).to.be.at.most(779 + 120)
        expect(register.resolve({ name: query }).candidates[0]?.score ?? 0).to.be.at.most(779)
      })
    })
  }

  const JOINED: [query: string, registered: string][] = [
    ['VALLEYVIEW FARM LIMITED', 'VALLEY VIEW FARM LIMITED'],
    ['A & T MOTORS LIMITED', 'AT MOTORS LIMITED'],
  ]
  for (const [query, registered] of JOINED) {
    it(`[12.11] matches ${registered} for ${query} only with an equal Eircode`, async () => {
      await withRegister(rowsOf(registered, 'OTHER MOTORS LIMITED', 'OTHER FARM LIMITED'), (register) => {
        const alone = register.resolve({ name: query })
        expect(alone).to.include({ status: 'ambiguous', match: null })
        expect(alone.candidates[0]).to.include({ match_type: 'fuzzy_name', score: 849 })
        expect(register.resolve({ name: query, address: 'Quay Street' })).to.include({ status: 'ambiguous' })
        expect(register.resolve({ name: query, eircode: 'H91A1A1' })).to.include({ status: 'matched' })
        expect(register.search({ q: query }).candidates[0]).to.include({ match_type: 'fuzzy_name', score: 849 })
        const byNumber = register.resolve({ name: query, company_number: '1' })
        expect(byNumber.candidates[0]?.conflicts).to.deep.equal([])
      })
    })
  }

  it('[12.6] reads The, and Co for Company, as relaxed if the register has no other such name', async () => {
    const rows = [
      ...rowsOf('THE LANTERN ROOMS LIMITED', 'HARBOUR LIGHTS LIMITED', 'THE COPPER POT LIMITED', 'COPPER POT DAC'),
      { number: '20', name: 'LAREINE & CO. LIMITED' },
      { number: '21', name: 'DOVEPHARM COMPANY LIMITED' },
      { number: '22', name: 'TWIN ELMS COMPANY LIMITED' },
      { number: '23', name: 'TWIN ELMS CO LIMITED', status: 'Dissolved', dissolved: '2020-01-01' },
      { number: '7', name: 'TWIN OAKS LIMITED' },
      { number: '8', name: 'TWIN OAKS LIMITED', status: 'Dissolved', dissolved: '2020-01-01' },
      { number: '9', name: 'THE OLD MILL LIMITED' },
      { number: '10', name: 'OLD MILL LIMITED', status: 'Dissolved', dissolved: '2020-01-01' },
    ]
    await withRegister(rows, (register) => {
      for (const [name, number] of [
        ['Lantern Rooms Ltd', '1'],
        ['Lantern Rooms', '1'],
        ['The Harbour Lights Limited', '2'],
        ['The Harbour Lights Limited T/A The Bar', '2'],
        ['LAREINE AND COMPANY LIMITED', '20'],
        ['The Lareine & Company', '20'],
        ['Dovepharm Co Ltd', '21'],
      ] as const) {
        const { status, match } = register.resolve({ name })
        expect(status, name).to.equal('matched')
        expect(match?.company.company_number).to.equal(number)
        expect(match).to.include({ match_type: 'relaxed_name', score: 960 })
        expect(register.resolve({ name, company_number: number })).to.include({ status: 'matched' })
      }
      // Another legal form, and a name that two companies have.
      expect(register.resolve({ name: 'The Harbour Lights DAC' })).to.include({ match: null })
      for (const name of ['Copper Pot Limited', 'The Twin Oaks Limited', 'The Twin Elms Co Ltd', 'Lareine Company Ltd'])
        expect(register.resolve({ name }), name).to.include({ match: null })
      expect(register.resolve({ name: 'Old Mill Limited' }).match?.company.company_number).to.equal('10')
      expect(register.resolve({ name: 'The Old Mill Limited' }).match?.company.company_number).to.equal('9')
      expect(register.resolve({ name: 'The Limited' })).to.include({ match: null })
    })
  })

  describe('with text behind the legal form', () => {
    const NAMES = [
      'STEWLEY LIMITED',
      'BED RES LIMITED',
      'BED RES IRELAND LIMITED',
      'FAIRWAY LIMITED',
      'FAIRWAY LIMITED CORK',
      'SONG SLEUTH LIMITED',
      'SONG SLEUTH HOLDINGS LIMITED',
    ]
    const all = (use: (register: TestRegister) => void) => withRegister(rowsOf(...NAMES), use)

    it('[12.10, 12.21] reads another company in a name with its text, and none in a former name', () =>
      all((register) => {
        expect(register.resolve({ name: 'Song Sleuth Ltd Holdings', ...evidence }).status).to.equal('ambiguous')
        expect(register.resolve({ name: 'Song Sleuth Holdings Ltd' }).match?.company.company_number).to.equal('7')
        expect(register.resolve({ name: 'Song Sleuth formerly Blue Door Ltd' }).candidates[0]).to.include({
          score: 849,
        })
        expect(register.resolve({ name: 'Song Sleuth formerly Blue Door Ltd, Jersey' }).candidates[0]?.score).to.equal(
          779,
        )
      }))

    it('[12.10] is ambiguous for words that another name has before or behind its form', () =>
      all((register) => {
        for (const [name, found] of [
          ['Bed Res Ltd (Ireland)', ['2', '3']],
          ['Bed Res Ltd, Irl', ['2', '3']],
          ['Fairway Ltd, Quay Street, Cork', ['4', '5']],
          // Explained by the address of both.
          ['Fairway Ltd, Quay Street', ['4']],
        ] as const) {
          const resolved = register.resolve({ name })
          expect(resolved.status, name).to.equal(found.length > 1 ? 'ambiguous' : 'matched')
          expect(companyNumbers(resolved)).to.deep.equal(found)
          if (found.length > 1) expect(register.resolve({ name, ...evidence }).status, name).to.equal('ambiguous')
        }
        // A similar name, of which another is the same with the words of the text.
        expect(register.resolve({ name: 'Bed Ress Ltd (Ireland)', ...evidence }).status).to.equal('ambiguous')
      }))
  })

  describe('with a typed company number', () => {
    const rows = [
      { number: '335801', name: 'CROFTHORN DEVELOPMENTS LIMITED', eircode: 'H91 A1A1' },
      { number: '81615', name: 'STEWLEY LIMITED' },
      { number: '999', name: 'FAIRWAY LIMITED' },
      { number: '400001', name: '123456 LIMITED' },
      { number: '123456', name: 'OTHER NAME LIMITED' },
      // TRADING is a common word, so the text 335802 is similar to this name.
      { number: '700', name: '335802 TRADING LIMITED' },
      ...Array.from({ length: 20 }, (_, at) => ({
        number: `${800 + at}`,
        name: `CROWD${'ABCDEFGHIJ'[at % 10]} TRADING LIMITED`,
      })),
    ]

    it('[12.20] is the company of the name that equals the text, or of a short number with a label', () =>
      withRegister(rows, (register) => {
        expect(register.resolve({ name: '123456' }).match?.company.company_number).to.equal('400001')
        expect(register.resolve({ name: 'CRO 999' }).match?.company.company_number).to.equal('999')
      }))

    it('[12.15] is no match without such a company, and a shorter number is a candidate of a search only', () =>
      withRegister(rows, (register) => {
        for (const name of ['335802', 'CRO 335802', '999'])
          expect(register.resolve({ name }), name).to.include({ status: 'no_match', match: null })
        expect(companyNumbers(register.search({ q: '999' }))).to.deep.equal(['999'])
        expect(companyNumbers(register.search({ q: '335802' }))).to.deep.equal(['700'])
      }))

    it('[12.15] does not count beside another name, and conflicts with another Eircode', () =>
      withRegister(rows, (register) => {
        expect(register.resolve({ name: '335801 Fairway Limited' }).match).to.equal(null)
        expect(register.resolve({ name: '335801', eircode: 'D02 X285' }).status).to.equal('conflicting')
      }))
  })
})
