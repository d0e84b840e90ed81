/** The normaliser: what counts as the same name however it is written, and what does not. */
import { expect } from 'chai'
import fc from 'fast-check'
import { normalText, normalWords, parseName } from '../../../store/index/names.ts'
import { splitMisspeltSuffix } from '../../../store/index/suffixes.ts'

/** Ways to write one name, by what they have in common. */
const SAME: [what: string, normal: string, written: string[]][] = [
  ['case', 'kerry foods', ['KERRY FOODS', 'kerry foods', 'Kerry Foods']],
  ['spaces', 'kerry foods', ['KERRY  FOODS', ' KERRY FOODS ', 'KERRY\tFOODS', 'KERRY\u00A0FOODS']],
  ['fadas', 'tusur', ['TÚSÚR', 'TUSUR', 'Túsúr', 'tu\u0301su\u0301r']],
  ['O of a surname', 'obrien', ["O'Brien", 'O Brien', 'OBrien', 'O’BRIEN', 'Ó Brien', 'O´Brien', 'O`BRIEN']],
  ['O of an Irish surname', 'obriain', ['Ó Briain', 'O BRIAIN', "O'Briain", 'ÓBRIAIN']],
  ['Mc of a surname', 'mccarthy', ['McCarthy', 'MC CARTHY', 'Mc Carthy']],
  ['a surname after an initial', 'j obrien', ["J. O'Brien", 'J O Brien', "J O'BRIEN", 'J. O Brien']],
  ['a surname after initials', 'pj obrien', ["P.J. O'Brien", 'P J O Brien', "P. J. O'BRIEN", 'PJ OBRIEN']],
  ['two beginnings of a surname', 'mcobrien', ['MC O BRIEN', "Mc O'Brien"]],
  ['a beginning before initials', 'mcabc', ['MC A B C', 'Mc ABC', 'MCABC']],
  ['and', 'fish and chips', ['FISH & CHIPS', 'Fish and Chips', 'FISH&CHIPS', 'FISH + CHIPS', 'fish agus chips']],
  ['and beside an initial', 'o and sons', ['O & SONS', 'O AND SONS', 'O + SONS', 'O agus Sons']],
  ['initials', 'abc foods', ['A.B.C. FOODS', 'A B C FOODS', 'ABC FOODS', 'A.B.C FOODS', 'A. B. C. Foods']],
  [
    'apostrophes',
    'papa billys',
    ["PAPA BILLY'S", 'PAPA BILLYS', 'PAPA BILLY’S', 'PAPA BILLY‘S', 'PAPA BILLY´S', 'PAPA BILLY‛S'],
  ],
  ['hyphens', 'north west air', ['NORTH-WEST AIR', 'NORTH WEST AIR', 'NORTH – WEST AIR', 'NORTH_WEST/AIR']],
  ['brackets', 'foods ireland', ['FOODS (IRELAND)', 'FOODS IRELAND', '[FOODS] {IRELAND}']],
  ['outer punctuation', 'foods', ['"FOODS"', 'FOODS.', '- FOODS -', '¿FOODS?']],
  ['mis-encoded fadas', 'aoife cafe', ['AOIFE CAFÉ', 'Aoife CafÃ©', 'AOIFE CAFE']],
  ['full width', 'abc 12', ['ＡＢＣ １２', 'abc 12']],
]

/** Names that must not become the same. */
const DIFFERENT: [string, string][] = [
  ['KERRY FOODS', 'KERRY FOOD'],
  ['NO 57', 'NO 58'],
  ['ALPHA II', 'ALPHA III'],
  ['ALPHA 1 2', 'ALPHA 12'],
  ['THE KERRY', 'KERRY'],
  ['CLEAR POINT', 'CLEARPOINT'],
  ['A SYSTEMS', 'A & SYSTEMS'],
  ['KERRY GROUP', 'KERRY HOLDINGS'],
  ['INTERNATIONAL FOODS', 'INTL FOODS'],
]

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.constantFrom('o', 'mc', 'a', 'B', 'ltd', 'agus', 'and', '&', '+', '.', "'", ' ', 'brien', 'Ó', '´', '5', 'Ã©'),
    )
    .map((parts) => parts.join('')),
  fc
    .array(fc.constantFrom('o', 'mc', 'a', 'b', 'agus', 'and', '&', 'brien', 'limited', 'ab', "O'", 'A.', '7'))
    .map((parts) => parts.join(' ')),
)

describe('a name in normal form', () => {
  for (const [what, normal, written] of SAME) {
    it(`is the same whatever the ${what}: ${normal}`, () => {
      expect(written.map(normalText)).to.deep.equal(written.map(() => normal))
    })
  }

  it('has lost the dots of lenition with the other marks', () => {
    expect(normalText('Áṫ Cliaṫ')).to.equal('at cliat')
    expect(normalText('Ċumann na Ṁban')).to.equal(normalText('Cumann na Mban'))
  })

  it('spells out letters that no decomposition takes apart', () => {
    expect(normalText('GRÖẞE Łódź Øre Æon Þór ŒUVRE')).to.equal('grosse lodz ore aeon thor oeuvre')
  })

  it('reads every mis-encoded fada', () => {
    // UTF-8 read as Windows-1252; where that gives a control character it has been removed before.
    const misread = { é: 'Ã‰', ó: 'Ã“', ú: 'Ãš' }
    const misreadSmall = { á: 'Ã¡', é: 'Ã©', ó: 'Ã³', ú: 'Ãº' }
    for (const [vowel, units] of [...Object.entries(misread), ...Object.entries(misreadSmall)])
      for (const form of ['NFC', 'NFKC'])
        expect(normalText(`X${units.normalize(form)}X`), `${units} ${form}`).to.equal(normalText(`X${vowel}X`))
  })

  it('keeps other alphabets', () => {
    expect(normalWords('Общество Ёлка 東京 株式会社')).to.deep.equal(['общество', 'елка', '東京', '株式会社'])
    expect(normalText('ΟΔΟΣ')).to.equal(normalText('οδοσ'))
  })

  it('is empty for a text without letter or digit', () => {
    for (const text of ['', ' ', '!!!', '—', '😀', '\u0301']) expect(normalWords(text)).to.deep.equal([])
  })

  for (const [one, other] of DIFFERENT) {
    it(`tells ${one} from ${other}`, () => {
      expect(normalText(one)).not.to.equal(normalText(other))
    })
  }

  it('is its own normal form', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const normal = normalText(text)
        expect(normalText(normal)).to.equal(normal)
      }),
      { numRuns: 1000 },
    )
  })

  it('holds lower-case letters and digits, and one space between words', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(normalText(text)).to.match(/^(?:[\p{L}\p{N}]+(?: [\p{L}\p{N}]+)*)?$/u)
      }),
      { numRuns: 1000 },
    )
  })

  it('is the same in capitals, in NFC and in NFKC', () => {
    fc.assert(
      fc.property(anyText.filter(hasPlainCase), (text) => {
        const normal = normalText(text)
        expect(normalText(text.toUpperCase())).to.equal(normal)
        expect(normalText(text.normalize('NFC'))).to.equal(normal)
        expect(normalText(text.normalize('NFKC'))).to.equal(normal)
      }),
      { numRuns: 1000 },
    )
  })

  it('does not depend on fadas, spacing or what stands around it', () => {
    const word = fc.stringMatching(/^[a-z]{2,8}$/).filter((each) => !['mc', 'agus'].includes(each))
    const noise = fc.constantFrom('', ' ', '  ', '. ', '" ', ' - ', ', ')
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), noise, noise, (words, before, between) => {
        const written = before + words.map(withFadas).join(between.includes(' ') ? between : ' ') + before
        expect(normalText(written)).to.equal(words.join(' '))
      }),
    )
  })
})

/** The register's legal forms and their abbreviations: Companies Act 2014, and ISO 20275 for the rest. */
const FORMS: Record<string, string[]> = {
  ltd: ['LIMITED', 'Ltd', 'Ltd.', 'L.T.D.', 'LMTD', 'Private Company Limited by Shares', 'TEORANTA', 'Teo', 'Teo.'],
  dac: ['DESIGNATED ACTIVITY COMPANY', 'DAC', 'D.A.C.', 'Cuideachta Ghníomhaíochta Ainmnithe', 'CGA', 'C.G.A.'],
  clg: ['COMPANY LIMITED BY GUARANTEE', 'CLG', 'C.L.G.', 'Cuideachta faoi Theorainn Ráthaíochta', 'CTR', 'c.t.r.'],
  plc: ['PUBLIC LIMITED COMPANY', 'PLC', 'p.l.c.', 'Cuideachta Phoiblí Theoranta', 'CPT', 'C.P.T.'],
  uc: ['UNLIMITED COMPANY', 'UC', 'U.C.', 'ULC', 'U.L.C.', 'Cuideachta Neamhtheoranta', 'CN', 'C.N.'],
  icav: ['Irish Collective Asset-management Vehicle', 'ICAV'],
  se: ['Societas Europaea', 'SE', 'S.E.'],
  eeig: ['European Economic Interest Grouping', 'EEIG', 'Grupáil Eorpach um Leas Eacnamaíoch', 'GELE'],
  ilp: ['Investment Limited Partnership', 'ILP', 'Comhpháirtíocht Theoranta Infheistíochta', 'CTI'],
  lp: ['Limited Partnership', 'LP', 'L.P.'],
  llp: ['Limited Liability Partnership', 'LLP'],
}
const LONG_FORMS: Record<string, string[]> = {
  ltd: ['Cuideachta Phríobháideach Theoranta'],
  dac: [
    'Designated Activity Company Limited by Shares',
    'Designated Activity Company Limited by Guarantee',
    '(Designated Activity Company)',
  ],
  uc: ['Private Unlimited Company', 'Public Unlimited Company'],
}

describe('the legal form of a name', () => {
  for (const [suffix, forms] of Object.entries(FORMS)) {
    for (const form of [...forms, ...(LONG_FORMS[suffix] ?? [])]) {
      it(`is ${suffix} for ${form}`, () => {
        expect(parseName(`Example Foods ${form}`)).to.deep.equal({ core: ['example', 'foods'], suffix })
        expect(parseName(`EXAMPLE FOODS, ${form.toUpperCase()}`)).to.deep.equal({ core: ['example', 'foods'], suffix })
      })
    }
  }

  it('is taken off once, at the end alone', () => {
    expect(parseName('LIMITED EDITIONS').suffix).to.equal('')
    expect(parseName('UNLIMITED FOODS LTD')).to.deep.equal({ core: ['unlimited', 'foods'], suffix: 'ltd' })
    expect(parseName('FOODS LIMITED LIMITED')).to.deep.equal({ core: ['foods', 'limited'], suffix: 'ltd' })
    expect(parseName('FOODS DAC LIMITED')).to.deep.equal({ core: ['foods', 'dac'], suffix: 'ltd' })
  })

  it('is no surname after O or Mc', () => {
    expect(parseName('VITAMIN O LIMITED')).to.deep.equal({ core: ['vitamin', 'o'], suffix: 'ltd' })
    expect(parseName('K MC D.A.C.')).to.deep.equal({ core: ['k', 'mc'], suffix: 'dac' })
    expect(parseName('O Public Limited Company')).to.deep.equal({ core: ['o'], suffix: 'plc' })
    expect(parseName("O'DACEY LIMITED")).to.deep.equal({ core: ['odacey'], suffix: 'ltd' })
  })

  it('is never the whole name', () => {
    for (const forms of [...Object.values(FORMS), ...Object.values(LONG_FORMS)])
      for (const form of forms) expect(parseName(form).core, form).not.to.deep.equal([])
    expect(parseName('LIMITED')).to.deep.equal({ core: ['limited'], suffix: '' })
  })

  it('is not seen in the ends of ordinary names', () => {
    for (const name of ['A1 SE', '12 CN', 'GO LP', 'U2 TEO', 'MOTORS CO', 'FOODS GROUP', 'FOODS INC'])
      expect(parseName(name).suffix, name).to.equal('')
    expect(parseName('SE MOTORS').suffix).to.equal('')
    expect(parseName('CN TRAFFIC LIMITED')).to.deep.equal({ core: ['cn', 'traffic'], suffix: 'ltd' })
  })

  it('leaves a core wherever there is a word', () => {
    const word = fc.constantFrom('limited', 'company', 'by', 'shares', 'private', 'dac', 'se', 'cn', 'a', 'foods', 'lp')
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 7 }), (words) => {
        const { core, suffix } = parseName(words.join(' '))
        expect(core).not.to.deep.equal([])
        if (suffix === '') expect(core).to.deep.equal(normalWords(words.join(' ')))
        else expect(normalWords(words.join(' ')).slice(0, core.length)).to.deep.equal(core)
      }),
    )
  })
})

describe('a legal form that is not written right', () => {
  const cases: [name: string, core: string, suffix: string][] = [
    ['Kerry Foods Limted', 'kerry foods', 'ltd'],
    ['Kerry Foods Limitedd', 'kerry foods', 'ltd'],
    ['Kerry FoodsLimited', 'kerry foods', 'ltd'],
    ['Kerry Foods Teranta', 'kerry foods', 'ltd'],
    ['Kerry Foods Desginated Activty Company', 'kerry foods', 'dac'],
    ['Kerry Foods Compny Limited by Guarantee', 'kerry foods', 'clg'],
    ['Kerry Foods Ltd', 'kerry foods', 'ltd'],
    ['Coffee Unlimited', 'coffee unlimited', ''],
    ['Leeds United', 'leeds united', ''],
    ['Kerry Foods Lt', 'kerry foods lt', ''],
    ['Kerry Foods Company', 'kerry foods company', ''],
    ['A1 SE', 'a1 se', ''],
    ['Limted', 'limted', ''],
    ['Limitedlimited', 'limited', 'ltd'],
  ]
  for (const [name, core, suffix] of cases) {
    it(`is ${suffix || 'none'} in ${name}`, () => {
      const split = splitMisspeltSuffix(parseName(name))
      expect([split.core.join(' '), split.suffix]).to.deep.equal([core, suffix])
    })
  }
})

const FADAS: Record<string, string> = { a: 'Á', e: 'é', i: 'Í', o: 'ó', u: 'Ú' }

function withFadas(word: string): string {
  return word.replace(/[aeiou]/g, (vowel) => FADAS[vowel] ?? vowel)
}

/** Whether capitals say the same: not so for letters that Unicode has in one case only, or several of. */
function hasPlainCase(text: string): boolean {
  return Array.from(text).every((letter) => letter.toUpperCase().toLowerCase() === letter.toLowerCase())
}
