/** Questions, their right answers, and the stratified sample. */
import { expect } from 'chai'
import { benchCompany } from '../../support/bench-company.ts'
import { halfOf, makeQuestions, type Question, type Questions } from './questions.ts'
import { ReferenceRegister } from './register.ts'
import { drawSample, shuffled } from './sample.ts'

const SEED = 3

const companies = [
  benchCompany('1', 'DOLMEN FOODS LIMITED', { eircode: 'D02 X285', addressLines: ['MAIN STREET'] }),
  benchCompany('2', 'DOLMEN FOODS DAC'),
  benchCompany('3', 'DOLMEN LIMITED'),
  benchCompany('4', 'TWIN WELLS LIMITED'),
  benchCompany('5', 'TWIN WELLS LTD'),
  benchCompany('6', 'ZX LIMITED'),
]
const register = new ReferenceRegister(companies)

function made(removed: Parameters<typeof makeQuestions>[0]['removed'] = []): Questions {
  const sample = companies.map((company) => ({ company, stratum: 'live' as const }))
  return makeQuestions({ register, sample, removed, seed: SEED })
}

function ofCompany(id: string, number: string): Question | undefined {
  return made().questions.find(({ class: asked, expected }) => asked.id === id && expected?.number === number)
}

describe('the questions', () => {
  it('are deterministic', () => {
    expect(made()).to.deep.equal(made())
  })

  it('are in one of two halves, by company and seed', () => {
    const { questions } = made()
    const halves = (seed: number) => questions.map((question) => halfOf(question, seed))
    expect(halves(SEED)).to.deep.equal(halves(SEED))
    expect(halves(SEED)).to.not.deep.equal(halves(SEED + 1))
    const ofOne = questions.filter(({ expected }) => expected?.number === '1').map((each) => halfOf(each, SEED))
    expect(new Set(ofOne).size).to.equal(1)
    const numbers = Array.from({ length: 2_000 }, (_, at) => benchCompany(String(at), 'ACME'))
    const report = numbers.filter((expected) => halfOf({ asked: { name: '' }, expected }, SEED) === 'report')
    expect(report.length).to.be.within(900, 1_100)
  })

  it('ask with the number of a company whose name differs by one letter', () => {
    const similar = new ReferenceRegister([...companies, benchCompany('9', 'ZY LIMITED')])
    const sample = similar.companies.map((company) => ({ company, stratum: 'live' as const }))
    const { questions } = makeQuestions({ register: similar, sample, removed: [], seed: SEED })
    const asked = questions.filter(({ class: { id } }) => id === 'n8').map((each) => each.asked)
    expect(asked).to.deep.include.members([
      { name: 'ZX LIMITED', company_number: '9' },
      { name: 'ZY LIMITED', company_number: '6' },
    ])
  })

  it('ask for the names of a list that are not registered, and for registered names as trading names', () => {
    const sample = companies.map((company) => ({ company, stratum: 'live' as const }))
    const unlisted = ['DOLMEN FOODS LTD', 'UNKNOWN LIMITED']
    const { questions } = makeQuestions({ register, sample, removed: [], seed: SEED, unlisted })
    const namesOf = (wanted: string) =>
      questions.filter(({ class: { id } }) => id === wanted).map(({ asked }) => asked.name)
    expect(namesOf('n7')).to.deep.equal(['UNKNOWN LIMITED'])
    for (const name of namesOf('n6')) expect(name).to.match(/ LIMITED T\/A (?:DOLMEN|TWIN|ZX)/)
  })

  it('accept all companies with the words when the legal form is omitted', () => {
    expect(ofCompany('4', '1')).to.deep.include({ accepted: ['1', '2'], isUnique: false })
    expect(ofCompany('4', '3')).to.deep.include({ accepted: ['3'], isUnique: true })
  })

  it('accept both of two companies with one name', () => {
    expect(ofCompany('0', '4')).to.deep.include({ accepted: ['4', '5'], isUnique: false })
  })

  it('accept the companies with the original name when the changed one is unregistered', () => {
    expect(ofCompany('1', '5')).to.deep.include({ accepted: ['4', '5'], isUnique: false })
  })

  it('count a changed name that is another company`s as a collision and leave it out', () => {
    const { questions, collisions } = made()
    // Class 9 omits FOODS or DOLMEN from DOLMEN FOODS LIMITED, depending on the seed.
    const put = questions.filter(({ class: asked }) => asked.id === '9').map(({ asked }) => asked.name)
    expect(put).not.to.include('DOLMEN LIMITED')
    // Class 3b turns DOLMEN FOODS LIMITED into the registered DOLMEN FOODS DAC.
    expect((collisions.get('9') ?? 0) + (collisions.get('3b') ?? 0)).to.be.greaterThan(0)
  })

  it('ask for removed companies in every class, unless another company has the name', () => {
    const twin = { eircode: 'T12 AB35', addressLines: ['MAIN STREET'] }
    const removed = [
      benchCompany('7', 'GONE LIMITED', { eircode: 'T12 AB34' }),
      benchCompany('8', 'TWIN WELLS LIMITED', twin),
    ]
    const about = made(removed).questions.filter(({ isRemoved }) => isRemoved)
    expect(about.map(({ expected }) => expected)).to.not.include(removed[0])
    for (const { asked, accepted } of about) {
      expect(asked.name).to.not.include('TWIN')
      expect(accepted).to.deep.equal([])
    }
    const ofClass = (id: string) => about.filter((each) => each.class.id === id).map((each) => each.asked)
    expect(ofClass('0')).to.deep.equal([{ name: 'GONE LIMITED' }])
    expect(ofClass('18')).to.deep.equal([{ name: 'GONE LIMITED', eircode: 'T12 AB34' }])
    expect(ofClass('4')).to.deep.equal([{ name: 'GONE' }])
  })

  it('are of the given classes only, and at most as many of each as asked for', () => {
    const sample = companies.map((company) => ({ company, stratum: 'live' as const }))
    const limits = { classes: new Set(['0', '4']), classMax: 2 }
    const { questions } = makeQuestions({ register, sample, removed: [], seed: SEED, ...limits })
    expect(questions.map(({ class: { id } }) => id)).to.deep.equal(['0', '0', '4', '4'])
  })

  it('include unregistered names', () => {
    const negatives = made().questions.filter(({ class: each }) => ['n1', 'n2'].includes(each.id))
    expect(negatives.length).to.be.greaterThan(0)
    for (const { asked, expected, accepted } of negatives) {
      expect(register.named(asked.name)).to.deep.equal([])
      expect([expected, accepted]).to.deep.equal([undefined, []])
    }
  })

  it('are canonical inputs of search and resolve', () => {
    expect(ofCompany('18', '1')).to.deep.include({
      search: { operation: 'search', input: { q: 'DOLMEN FOODS LIMITED', limit: 10, eircode: 'D02X285' } },
      resolve: { operation: 'resolve', input: { name: 'DOLMEN FOODS LIMITED', eircode: 'D02X285' } },
    })
  })

  it('distinguish long names from short ones', () => {
    expect(ofCompany('0', '1')?.isLong).to.equal(true)
    expect(ofCompany('0', '6')?.isLong).to.equal(false)
  })
})

describe('the sample', () => {
  const many = Array.from({ length: 400 }, (_, index) =>
    benchCompany(String(index), `${wordOf(index)} TRADING LIMITED`),
  )
  const kinds = new ReferenceRegister([
    ...many,
    benchCompany('501', 'SAME NAME LIMITED'),
    benchCompany('502', 'SAME NAME LTD'),
    benchCompany('503', 'CARRIGALINE LIMITED'),
    benchCompany('504', 'CARRIGALIME LIMITED'),
    benchCompany('505', 'ROUTE 66 CAFE LIMITED'),
    benchCompany('506', 'CÚL GLAS LIMITED'),
    benchCompany('507', 'GLAS ANOIS TEORANTA'),
    benchCompany('508', 'SOLITARY LIMITED'),
    benchCompany('509', 'ENDED WELL TRADERS LIMITED', { condition: 'dissolved' }),
    benchCompany('510', 'ENDING NOW TRADERS LIMITED', { condition: 'other' }),
  ])
  const sample = drawSample(kinds, { size: 100, seed: SEED })
  const kindOf = (number: string) => sample.find(({ company }) => company.number === number)?.stratum

  it('has the requested size, each company once, and is deterministic', () => {
    expect(new Set(sample.map(({ company }) => company.number)).size).to.equal(100)
    expect(drawSample(kinds, { size: 100, seed: SEED })).to.deep.equal(sample)
    expect(drawSample(kinds, { size: 100, seed: SEED + 1 })).not.to.deep.equal(sample)
  })

  it('includes every rare kind', () => {
    const found = ['501', '503', '505', '506', '507', '508', '509', '510'].map(kindOf)
    expect(found).to.deep.equal([
      'same name as another',
      'one letter from another',
      'with a number',
      'Irish language',
      'Irish language',
      'one word',
      'dissolved',
      'neither live nor dissolved',
    ])
  })

  it('is the whole register when that is smaller', () => {
    expect(drawSample(register, { size: 100, seed: SEED })).to.have.length(companies.length)
  })

  it('is drawn from a shuffle that keeps all values', () => {
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
