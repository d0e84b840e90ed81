/** Which questions are put, and what is known of their answers: nobody is blamed for a name that is another's. */
import { expect } from 'chai'
import { aListed } from '../../support/listed.ts'
import { makeQuestions, type Question, type Questions } from './questions.ts'
import { Register } from './register.ts'
import { drawSample, shuffled } from './sample.ts'

const SEED = 3

const companies = [
  aListed('1', 'DOLMEN FOODS LIMITED', { eircode: 'D02 X285', addressLines: ['MAIN STREET'] }),
  aListed('2', 'DOLMEN FOODS DAC'),
  aListed('3', 'DOLMEN LIMITED'),
  aListed('4', 'TWIN WELLS LIMITED'),
  aListed('5', 'TWIN WELLS LTD'),
  aListed('6', 'ZX LIMITED'),
]
const register = new Register(companies)

function made(removed: Parameters<typeof makeQuestions>[0]['removed'] = []): Questions {
  const sample = companies.map((company) => ({ company, stratum: 'live' as const }))
  return makeQuestions({ register, sample, removed, seed: SEED })
}

function ofCompany(id: string, number: string): Question | undefined {
  return made().questions.find(({ class: asked, meant }) => asked.id === id && meant?.number === number)
}

describe('the questions', () => {
  it('are the same of the same seed', () => {
    expect(made()).to.deep.equal(made())
  })

  it('leave the form out, and then mean all of that name, of which none is the only one', () => {
    expect(ofCompany('4', '1')).to.deep.include({ accepted: ['1', '2'], isUnique: false })
    expect(ofCompany('4', '3')).to.deep.include({ accepted: ['3'], isUnique: true })
  })

  it('take either of two companies of one name for a right answer of a search', () => {
    expect(ofCompany('0', '4')).to.deep.include({ accepted: ['4', '5'], isUnique: false })
  })

  it('take the companies of the meant name where a mistyped name is nobody`s', () => {
    expect(ofCompany('1', '5')).to.deep.include({ accepted: ['4', '5'], isUnique: false })
  })

  it('count a name that became another`s apart, and do not put it', () => {
    const { questions, namingAnother } = made()
    // FOODS missing from DOLMEN FOODS LIMITED; the seed decides whether FOODS or DOLMEN is.
    const put = questions.filter(({ class: asked }) => asked.id === '9').map(({ asked }) => asked.name)
    expect(put).not.to.include('DOLMEN LIMITED')
    // DAC of DOLMEN FOODS LIMITED is the other one.
    expect((namingAnother.get('9') ?? 0) + (namingAnother.get('3b') ?? 0)).to.be.greaterThan(0)
  })

  it('ask for removed companies, with their Eircode too, unless the name is somebody else`s as well', () => {
    const twin = { eircode: 'T12 AB35', addressLines: ['MAIN STREET'] }
    const removed = [aListed('7', 'GONE LIMITED', { eircode: 'T12 AB34' }), aListed('8', 'TWIN WELLS LIMITED', twin)]
    const { questions, namingAnother } = made(removed)
    const asked = questions.filter(({ class: each }) => ['n3', 'n4'].includes(each.id)).map((each) => each.asked)
    expect(asked).to.deep.equal([{ name: 'GONE LIMITED' }, { name: 'GONE LIMITED', eircode: 'T12 AB34' }])
    expect(['n3', 'n4', 'n5'].map((id) => namingAnother.get(id))).to.deep.equal([1, 1, 1])
  })

  it('ask for names that nobody has', () => {
    const negatives = made().questions.filter(({ class: each }) => ['n1', 'n2'].includes(each.id))
    expect(negatives.length).to.be.greaterThan(0)
    for (const { asked, meant, accepted } of negatives) {
      expect(register.named(asked.name)).to.deep.equal([])
      expect([meant, accepted]).to.deep.equal([undefined, []])
    }
  })

  it('are canonical inputs of both operations', () => {
    expect(ofCompany('18', '1')).to.deep.include({
      search: { operation: 'search', input: { q: 'DOLMEN FOODS LIMITED', limit: 10, eircode: 'D02X285' } },
      resolve: { operation: 'resolve', input: { name: 'DOLMEN FOODS LIMITED', eircode: 'D02X285' } },
    })
  })

  it('know long names from short ones', () => {
    expect(ofCompany('0', '1')?.isLong).to.equal(true)
    expect(ofCompany('0', '6')?.isLong).to.equal(false)
  })
})

describe('the sample', () => {
  const many = Array.from({ length: 400 }, (_, index) => aListed(String(index), `${wordOf(index)} TRADING LIMITED`))
  const kinds = new Register([
    ...many,
    aListed('501', 'SAME NAME LIMITED'),
    aListed('502', 'SAME NAME LTD'),
    aListed('503', 'CARRIGALINE LIMITED'),
    aListed('504', 'CARRIGALIME LIMITED'),
    aListed('505', 'ROUTE 66 CAFE LIMITED'),
    aListed('506', 'CÚL GLAS LIMITED'),
    aListed('507', 'GLAS ANOIS TEORANTA'),
    aListed('508', 'SOLITARY LIMITED'),
    aListed('509', 'ENDED WELL TRADERS LIMITED', { condition: 'dissolved' }),
    aListed('510', 'ENDING NOW TRADERS LIMITED', { condition: 'other' }),
  ])
  const sample = drawSample(kinds, { size: 100, seed: SEED })
  const kindOf = (number: string) => sample.find(({ company }) => company.number === number)?.stratum

  it('has the size that is asked for, each company once, the same of the same seed', () => {
    expect(new Set(sample.map(({ company }) => company.number)).size).to.equal(100)
    expect(drawSample(kinds, { size: 100, seed: SEED })).to.deep.equal(sample)
    expect(drawSample(kinds, { size: 100, seed: SEED + 1 })).not.to.deep.equal(sample)
  })

  it('has the rare kinds, however rare they are', () => {
    const found = ['501', '503', '505', '506', '507', '508', '509', '510'].map(kindOf)
    expect(found).to.deep.equal([
      'same name as another',
      'one letter from another',
      'with a number',
      'Irish',
      'Irish',
      'one word',
      'dissolved',
      'neither live nor dissolved',
    ])
  })

  it('is of the whole register when that is smaller', () => {
    expect(drawSample(register, { size: 100, seed: SEED })).to.have.length(companies.length)
  })

  it('is drawn from a shuffle that loses nothing', () => {
    const numbers = Array.from({ length: 50 }, (_, index) => index)
    expect(shuffled(numbers, SEED)).to.have.members(numbers)
    expect(shuffled(numbers, SEED)).not.to.deep.equal(numbers)
  })
})

/** Words that differ in more than one letter. */
function wordOf(index: number): string {
  const letter = (at: number) => String.fromCodePoint(65 + (Math.floor(index / 26 ** at) % 26)).repeat(3)
  return letter(1) + letter(0)
}
