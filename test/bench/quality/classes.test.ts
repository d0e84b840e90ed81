/** The ways to ask: each changes what it says it changes and nothing else, and the same seed changes it the same. */
import { expect } from 'chai'
import fc from 'fast-check'
import { randomFor } from '../../../agent/sandbox/sample-random.ts'
import { aListed } from '../../support/listed.ts'
import { CLASSES } from './classes.ts'
import type { Asked } from './evidence.ts'
import { fold, partsOf } from './names.ts'
import type { Listed } from './register.ts'
import { SLIP_KINDS, withTypo } from './typos.ts'

const WITH_EVIDENCE = new Set(['0', '17', '18', '19'])

function ask(id: string, company: Listed, seed: number): Asked | undefined {
  const questionClass = CLASSES.find((each) => each.id === id)
  if (!questionClass?.perturb) throw new Error(`There is no class ${id}`)
  return questionClass.perturb(randomFor(seed, 0, 0), company)
}

/** All that a class makes of a name, over enough seeds to see every way. */
function waysOf(id: string, name: string): Set<string> {
  const asked = Array.from({ length: 300 }, (_, seed) => ask(id, aListed('1', name), seed)?.name)
  return new Set(asked.filter((each) => each !== undefined))
}

/** Letters left out, put in, exchanged or transposed. */
function distance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  const cell = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let row = 1; row <= one.length; row += 1) {
    rows[row] = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      const isTransposed = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      rows[row]?.push(
        Math.min(
          cell(row - 1, column) + 1,
          cell(row, column - 1) + 1,
          cell(row - 1, column - 1) + (isSame ? 0 : 1),
          isTransposed ? cell(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
  }
  return cell(one.length, other.length)
}

const word = fc.stringMatching(/^[A-ZÁÉÍÓÚ]{1,9}$/)
const core = fc.array(fc.oneof(word, fc.constantFrom('&', 'AND', "O'BRIEN", 'SERVICES', '3', 'A.B.', 'HOLDINGS')), {
  minLength: 1,
  maxLength: 5,
})
const form = fc.constantFrom('LIMITED', 'LTD', 'TEORANTA', 'DESIGNATED ACTIVITY COMPANY', 'CLG', 'PLC', 'UC', '')
const company = fc.record({ core, form }).map((name) =>
  aListed('7', `${name.core.join(' ')} ${name.form}`.trim(), {
    eircode: 'D02 X285',
    addressLines: ['1 MAIN STREET, NAAS', 'Ireland'],
  }),
)
const seeds = fc.nat({ max: 2 ** 31 })

describe('the ways to ask for a company', () => {
  it('have ids of their own, and leave former names out', () => {
    const ids = CLASSES.map(({ id }) => id)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(ids).not.to.include('15')
  })

  for (const { id, label } of CLASSES) {
    it(`${label}: the same of the same seed, and never nothing`, () => {
      fc.assert(
        fc.property(company, seeds, (asked, seed) => {
          const question = ask(id, asked, seed)
          expect(ask(id, asked, seed)).to.deep.equal(question)
          if (question) expect(fold(question.name)).not.to.equal('')
        }),
      )
    })

    it(`${label}: ${WITH_EVIDENCE.has(id) ? 'the name as it is' : 'another text than the name'}`, () => {
      fc.assert(
        fc.property(company, seeds, (asked, seed) => {
          const question = ask(id, asked, seed)
          if (question) expect(question.name === asked.name).to.equal(WITH_EVIDENCE.has(id))
        }),
      )
    })
  }

  for (const id of ['1', '2', '5', '6', '9', '12', '13', '16']) {
    it(`class ${id} leaves the legal form alone`, () => {
      fc.assert(
        fc.property(company, seeds, (asked, seed) => {
          const question = ask(id, asked, seed)
          fc.pre(question !== undefined && partsOf(asked.name).surface !== '')
          expect(question?.name.endsWith(` ${partsOf(asked.name).surface}`)).to.equal(true)
        }),
      )
    })
  }

  const WAYS: [id: string, name: string, ways: string[]][] = [
    ['3', 'ACME TEORANTA', ['ACME LIMITED', 'ACME LTD', 'ACME LTD.', 'ACME TEO', 'ACME Limited', 'ACME Ltd']],
    ['3', 'ACME DAC', ['ACME DESIGNATED ACTIVITY COMPANY', 'ACME CUIDEACHTA GHNÍOMHAÍOCHTA AINMNITHE']],
    ['3', 'THE LAND AGENCY', []],
    ['4', 'ACME, LIMITED', ['ACME']],
    ['5', 'ONE TWO LIMITED', ['TWO ONE LIMITED']],
    ['5', 'ONE LIMITED', []],
    ['6', 'BYRNE BROTHERS LIMITED', ['BYRNE BROS LIMITED']],
    ['6', 'BYRNE BROS LIMITED', ['BYRNE BROTHERS LIMITED']],
    ['7', 'FISH & CHIPS', ['FISH + CHIPS', 'FISH AND CHIPS', 'FISH AGUS CHIPS']],
    ['7', 'B&B LIMITED', ['B & B LIMITED', 'B + B LIMITED', 'B AND B LIMITED', 'B AGUS B LIMITED']],
    ['7', 'ANDERSON SANDS LIMITED', []],
    ['8', 'MÓR LIMITED', ['MOR LIMITED', 'MÃ³R LIMITED', 'MO\u0301R LIMITED']],
    ['8', 'BHRN LIMITED', ['ḂRN LIMITED']],
    ['9', 'ONE TWO LIMITED', ['ONE LIMITED', 'TWO LIMITED']],
    ['11', 'A.B. FOODS', ['A B FOODS', 'AB FOODS', 'A. B. FOODS']],
    ['11', 'THE FOOD HALL', []],
    ['11', 'MC CABE FOODS', []],
    ['12', 'TO GO LIMITED', ['TOGO LIMITED']],
    ['12', 'HARBOR LIMITED', ['HA RBOR LIMITED', 'HAR BOR LIMITED', 'HARB OR LIMITED']],
    ['13', 'ROUTE 3 LIMITED', ['ROUTE THREE LIMITED', 'ROUTE III LIMITED']],
    ['14', "O'BRIEN LIMITED", ['OBRIEN LIMITED', 'O BRIEN LIMITED', 'O\u2019BRIEN LIMITED']],
    ['14', 'ACME (CORK) LIMITED', ['ACME CORK LIMITED']],
    ['16', 'PHXNT', ['FXNT', 'PHKSNT']],
  ]
  for (const [id, name, ways] of WAYS) {
    it(`class ${id} makes ${ways.length} names of ${name}`, () => {
      expect([...waysOf(id, name)]).to.have.members(ways)
    })
  }

  it('adds a word, an article or a trading name', () => {
    const ways = waysOf('10', 'ACME LIMITED')
    expect(ways).to.include('ACME (IRELAND) LIMITED').and.include('THE ACME LIMITED')
    expect([...ways].some((name) => /^ACME LIMITED T\/A .+/.test(name))).to.equal(true)
  })

  it('gives a wrong legal form of another kind', () => {
    const forms = [...waysOf('3b', 'ACME LIMITED')].map((name) => partsOf(name).form)
    expect([...new Set(forms)]).to.have.members(['dac', 'clg', 'plc', 'uc'])
  })

  it('knows an Eircode that is right and others that are wrong', () => {
    const asked = aListed('1', 'ACME LIMITED', { eircode: 'D02 X285' })
    expect(ask('18', asked, 1)?.eircode).to.equal('D02 X285')
    for (let seed = 0; seed < 100; seed += 1) {
      expect(ask('17', asked, seed)?.eircode).to.match(/^(?!D02)[A-Z]\d\d[A-Z0-9]{4}$/)
    }
    expect(ask('17', aListed('1', 'ACME LIMITED'), 1)).to.equal(undefined)
  })

  it('gives another number with all evidence of the company, and nothing where there is no number', () => {
    const evidence = { eircode: 'D02 X285', addressLines: ['MAIN STREET'] }
    for (let seed = 0; seed < 50; seed += 1) {
      const asked = ask('13b', aListed('1', 'LEASING NO 12 LIMITED', evidence), seed)
      expect(asked).to.include({ eircode: 'D02 X285', address: 'MAIN STREET' })
      expect(asked?.name).to.match(/^LEASING NO (1[3-9]|2[01]) LIMITED$/)
    }
    expect(ask('13b', aListed('1', 'LEASING LIMITED', evidence), 1)).to.equal(undefined)
    expect(ask('13b', aListed('1', 'LEASING NO 12 LIMITED'), 1)).to.equal(undefined)
  })

  it('quotes an address in part, and never just the country', () => {
    const asked = aListed('1', 'ACME LIMITED', { addressLines: ['12', 'MAIN STREET, NAAS', 'Ireland'] })
    const parts = Array.from({ length: 50 }, (_, seed) => ask('19', asked, seed)?.address)
    expect([...new Set(parts)]).to.have.members(['MAIN STREET', 'NAAS'])
    expect(ask('19', aListed('1', 'ACME LIMITED', { addressLines: ['Ireland'] }), 1)).to.equal(undefined)
  })
})

describe('a typo', () => {
  it('is one edit away, two typos one to three', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Z]{3,12}( [A-Z]{1,8}){0,2}$/), seeds, (name, seed) => {
        const once = ask('1', aListed('1', name), seed)?.name ?? ''
        const twice = ask('2', aListed('1', name), seed)?.name ?? ''
        expect(distance(name, once)).to.equal(1)
        // This distance edits no letter twice: one put between two that were transposed makes three edits of two typos.
        expect(distance(name, twice)).to.be.within(1, 3)
      }),
    )
  })

  it('comes in six kinds, and at every letter, the first too', () => {
    expect(SLIP_KINDS).to.have.length(6)
    const typos = new Set(Array.from({ length: 3_000 }, (_, seed) => withTypo(randomFor(seed, 0, 0), 'HARP')))
    for (const [kind, typo] of Object.entries({
      substitution: 'ZARP',
      insertion: 'HAZRP',
      'insertion at the end': 'HARPZ',
      deletion: 'ARP',
      'deletion at the end': 'HAR',
      transposition: 'AHRP',
      'neighbouring key': 'GARP',
      'doubled letter': 'HHARP',
    })) {
      expect(typos.has(typo), kind).to.equal(true)
    }
  })

  it('is not made in names of fewer than three letters', () => {
    expect(ask('1', aListed('1', 'AB LIMITED'), 1)).to.equal(undefined)
    expect(ask('1', aListed('1', '24 7 LIMITED'), 1)).to.equal(undefined)
  })
})
