/** Query classes: each makes exactly the changes it names, and the same seed makes the same change. */
import { expect } from 'chai'
import fc from 'fast-check'
import { randomFor } from '../../../agent/sandbox/sample-random.ts'
import { referenceDistance } from '../../support/edit-distance.ts'
import { benchCompany } from '../../support/bench-company.ts'
import { CLASSES } from './classes.ts'
import type { QueryInput } from './evidence.ts'
import { fold, partsOf } from './names.ts'
import { ReferenceRegister, type BenchCompany } from './register.ts'
import { SLIP_KINDS, withTypo } from './typos.ts'

const UNCHANGED_NAME = new Set(['0', '17', '18', '19'])

function ask(id: string, company: BenchCompany, seed: number): QueryInput | undefined {
  const questionClass = CLASSES.find((each) => each.id === id)
  if (!questionClass?.perturb) throw new Error(`Unknown class ${id}`)
  return questionClass.perturb(randomFor(seed, 0, 0), company, new ReferenceRegister([company]))
}

/** All results of a class for a name, over enough seeds to see each. */
function listVariants(id: string, name: string): Set<string> {
  const asked = Array.from({ length: 300 }, (_, seed) => ask(id, benchCompany('1', name), seed)?.name)
  return new Set(asked.filter((each) => each !== undefined))
}

const word = fc.stringMatching(/^[A-ZÁÉÍÓÚ]{1,9}$/)
const core = fc.array(fc.oneof(word, fc.constantFrom('&', 'AND', "O'BRIEN", 'SERVICES', '3', 'A.B.', 'HOLDINGS')), {
  minLength: 1,
  maxLength: 5,
})
const form = fc.constantFrom('LIMITED', 'LTD', 'TEORANTA', 'DESIGNATED ACTIVITY COMPANY', 'CLG', 'PLC', 'UC', '')
const company = fc.record({ core, form }).map((name) =>
  benchCompany('7', `${name.core.join(' ')} ${name.form}`.trim(), {
    eircode: 'D02 X285',
    addressLines: ['1 MAIN STREET, NAAS', 'Ireland'],
  }),
)
const seeds = fc.nat({ max: 2 ** 31 })

describe('the query classes', () => {
  it('have unique ids and omit former names', () => {
    const ids = CLASSES.map(({ id }) => id)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(ids).not.to.include('15')
  })

  for (const { id, label } of CLASSES) {
    it(`${label}: deterministic and never empty`, () => {
      fc.assert(
        fc.property(company, seeds, (asked, seed) => {
          const question = ask(id, asked, seed)
          expect(ask(id, asked, seed)).to.deep.equal(question)
          if (question) expect(fold(question.name)).not.to.equal('')
        }),
      )
    })

    it(`${label}: ${UNCHANGED_NAME.has(id) ? 'keeps' : 'changes'} the name`, () => {
      fc.assert(
        fc.property(company, seeds, (asked, seed) => {
          const question = ask(id, asked, seed)
          if (question) expect(question.name === asked.name).to.equal(UNCHANGED_NAME.has(id))
        }),
      )
    })
  }

  for (const id of ['1', '2', '5', '6', '9', '12', '13', '16']) {
    it(`class ${id} keeps the legal form`, () => {
      fc.assert(
        fc.property(company, seeds, (asked, seed) => {
          const question = ask(id, asked, seed)
          fc.pre(question !== undefined && partsOf(asked.name).surface !== '')
          expect(question?.name.endsWith(` ${partsOf(asked.name).surface}`)).to.equal(true)
        }),
      )
    })
  }

  const VARIANTS: [id: string, name: string, variants: string[]][] = [
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
    ['22', 'A & B AND C LIMITED', ['A B C LIMITED']],
    ['22', 'FISH & CHIPS LTD', ['FISH CHIPS LTD']],
    ['22', 'SANDY LIMITED', []],
    ['16', 'PHXNT', ['FXNT', 'PHKSNT']],
  ]
  for (const [id, name, variants] of VARIANTS) {
    it(`class ${id} makes ${variants.length} variants of ${name}`, () => {
      expect([...listVariants(id, name)]).to.have.members(variants)
    })
  }

  const PARTS: [id: string, name: string, parts: string[]][] = [
    ['s1', 'TESCO FOODS LIMITED', ['tesco']],
    ['s1', 'A B LIMITED', []],
    ['s2', 'MURPHY FOODS LIMITED', ['murphy foo', 'murphy food']],
    ['s2', 'MURPHY LIMITED', []],
    ['s3', 'BALLYGAR FARMS LIMITED', ['bally']],
    ['s4', 'DUBLIN BUS HIRE LIMITED', ['dublinbushire']],
    ['s4', 'DUBLIN BUS LIMITED', []],
    ['s5', 'ELECTRICITY SUPPLY BOARD', ['esb']],
    ['s5', 'SUPPLY BOARD', []],
  ]
  for (const [id, name, parts] of PARTS) {
    it(`class ${id} asks for ${parts.join(' or ') || 'nothing'} of ${name}`, () => {
      expect([...listVariants(id, name)]).to.have.members(parts)
    })
  }

  it('the classes of parts accept every company that the part fits', () => {
    const register = new ReferenceRegister([
      benchCompany('1', 'TESCO IRELAND LIMITED'),
      benchCompany('2', 'TESCO LIMITED'),
      benchCompany('3', 'THE TESCO IRELAND'),
    ])
    const accepted = (id: string, query: string) => CLASSES.find((each) => each.id === id)?.accepted?.(register, query)
    expect(accepted('s1', 'tesco')).to.have.members(['1', '2', '3'])
    expect(accepted('s2', 'tesco ire')).to.have.members(['1'])
    expect(accepted('s3', 'irela')).to.have.members(['1', '3'])
    expect(accepted('s4', 'thetescoireland')).to.have.members(['3'])
    expect(accepted('s5', 'tti')).to.have.members(['3'])
  })

  it('class 10 adds a word or an article', () => {
    const variants = listVariants('10', 'ACME LIMITED')
    expect(variants).to.include('ACME (IRELAND) LIMITED').and.include('THE ACME LIMITED')
    expect([...variants].some((name) => name.includes('T/A'))).to.equal(false)
  })

  it('classes 20 and 21 write a trading name, a place or the number after a legal form', () => {
    const trading = [...listVariants('20', 'ACME LIMITED')]
    expect(trading.every((name) => /^ACME LIMITED\W+(?:T\/A|trading as) .+/i.test(name))).to.equal(true)
    const around = [...listVariants('21', 'ACME LIMITED')]
    expect(around).to.include.members(['ACME LIMITED (CORK)', 'ACME LIMITED - CORK', 'ACME LIMITED (CRO No. 1)'])
    for (const id of ['20', '21']) expect([...listVariants(id, 'ACME')]).to.deep.equal([])
  })

  it('class 3b uses legal forms of other classes', () => {
    const forms = [...listVariants('3b', 'ACME LIMITED')].map((name) => partsOf(name).form)
    expect([...new Set(forms)]).to.have.members(['dac', 'clg', 'plc', 'uc'])
  })

  it('classes 17 and 18 add a different Eircode and the right one', () => {
    const asked = benchCompany('1', 'ACME LIMITED', { eircode: 'D02 X285' })
    expect(ask('18', asked, 1)?.eircode).to.equal('D02 X285')
    for (let seed = 0; seed < 100; seed += 1) {
      expect(ask('17', asked, seed)?.eircode).to.match(/^(?!D02)[A-Z]\d\d[A-Z0-9]{4}$/)
    }
    expect(ask('17', benchCompany('1', 'ACME LIMITED'), 1)).to.equal(undefined)
  })

  it('class 13b changes a number and adds all evidence; it needs both', () => {
    const evidence = { eircode: 'D02 X285', addressLines: ['MAIN STREET'] }
    for (let seed = 0; seed < 50; seed += 1) {
      const asked = ask('13b', benchCompany('1', 'LEASING NO 12 LIMITED', evidence), seed)
      expect(asked).to.include({ eircode: 'D02 X285', address: 'MAIN STREET' })
      expect(asked?.name).to.match(/^LEASING NO (1[3-9]|2[01]) LIMITED$/)
    }
    expect(ask('13b', benchCompany('1', 'LEASING LIMITED', evidence), 1)).to.equal(undefined)
    expect(ask('13b', benchCompany('1', 'LEASING NO 12 LIMITED'), 1)).to.equal(undefined)
  })

  it('class 19 adds a part of the address other than the country', () => {
    const asked = benchCompany('1', 'ACME LIMITED', { addressLines: ['12', 'MAIN STREET, NAAS', 'Ireland'] })
    const parts = Array.from({ length: 50 }, (_, seed) => ask('19', asked, seed)?.address)
    expect([...new Set(parts)]).to.have.members(['MAIN STREET', 'NAAS'])
    expect(ask('19', benchCompany('1', 'ACME LIMITED', { addressLines: ['Ireland'] }), 1)).to.equal(undefined)
  })
})

describe('a typo', () => {
  it('has edit distance 1; two typos have 1 to 3', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Z]{3,12}( [A-Z]{1,8}){0,2}$/), seeds, (name, seed) => {
        const once = ask('1', benchCompany('1', name), seed)?.name ?? ''
        const twice = ask('2', benchCompany('1', name), seed)?.name ?? ''
        expect(referenceDistance(name, once)).to.equal(1)
        // Optimal string alignment edits no letter twice, so a letter inserted into a transposed pair costs 3.
        expect(referenceDistance(name, twice)).to.be.within(1, 3)
      }),
    )
  })

  it('is of six kinds and occurs at every letter', () => {
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

  it('needs a name of at least three letters', () => {
    expect(ask('1', benchCompany('1', 'AB LIMITED'), 1)).to.equal(undefined)
    expect(ask('1', benchCompany('1', '24 7 LIMITED'), 1)).to.equal(undefined)
  })
})
