/** The name normaliser: notations of one name, names that must stay different, and legal forms. */
import { expect } from 'chai'
import fc from 'fast-check'
import { normaliseText, normaliseWords, parseName } from '../../../store/index/normalise-name.ts'
import { splitMisspeltSuffix } from '../../../store/index/suffixes.ts'

/** Notations of one name. */
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
  ['O and Mc as initials', 'g and o catering', ['G AND O CATERING', 'G & O Catering', 'G&O CATERING']],
  ['Mc before a word of trade', 'mc engineering', ['MC ENGINEERING', 'M.C. Engineering', 'M C Engineering']],
  ['initials that end in O', 'so electrical', ['S.O. ELECTRICAL', 'S O Electrical', 'SO ELECTRICAL']],
  ['a surname after two initials', 'j and m obrien', ["J & M O'BRIEN", 'J AND M O BRIEN']],
  ['trade mark signs', 'brand foods', ['BRAND™ FOODS', 'BRAND® FOODS', 'Brand Foods©', 'BRAND℠ FOODS']],
  ['full width', 'abc 12', ['ＡＢＣ １２', 'abc 12']],
]

/** Names that must stay different. */
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
  ['G AND O CATERING', 'G AND OCATERING'],
  ['MC ENGINEERING', 'MCENGINEERING'],
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

describe('a normalised name', () => {
  for (const [what, normal, written] of SAME) {
    it(`[12.1] does not depend on the notation of ${what}: ${normal}`, () => {
      expect(written.map(normaliseText)).to.deep.equal(written.map(() => normal))
    })
  }

  it('repairs every mis-encoded fada', () => {
    // UTF-8 decoded as Windows-1252. The import has removed control characters before.
    const misread = { é: 'Ã‰', ó: 'Ã“', ú: 'Ãš' }
    const misreadSmall = { á: 'Ã¡', é: 'Ã©', ó: 'Ã³', ú: 'Ãº' }
    for (const [vowel, units] of [...Object.entries(misread), ...Object.entries(misreadSmall)])
      for (const form of ['NFC', 'NFKC'])
        expect(normaliseText(`X${units.normalize(form)}X`), `${units} ${form}`).to.equal(normaliseText(`X${vowel}X`))
  })

  it('keeps letters of other alphabets', () => {
    expect(normaliseWords('Общество Ёлка 東京 株式会社')).to.deep.equal(['общество', 'елка', '東京', '株式会社'])
    expect(normaliseText('ΟΔΟΣ')).to.equal(normaliseText('οδοσ'))
  })

  it('is empty for a text without a letter or digit', () => {
    for (const text of ['', ' ', '!!!', '—', '😀', '\u0301']) expect(normaliseWords(text)).to.deep.equal([])
  })

  for (const [one, other] of DIFFERENT) {
    it(`differs for ${one} and ${other}`, () => {
      expect(normaliseText(one)).not.to.equal(normaliseText(other))
    })
  }

  it('consists of lower-case letters and digits with single spaces, and does not change when normalised again', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const normal = normaliseText(text)
        expect(normal).to.match(/^(?:[\p{L}\p{N}]+(?: [\p{L}\p{N}]+)*)?$/u)
        const written = [normal, text.normalize('NFC')]
        // NFKC turns these signs into letters. Both the input and the normaliser remove them before.
        if (!/[™℠]/u.test(text)) written.push(text.normalize('NFKC'))
        // Upper and lower case of some letters do not map to each other.
        if (hasPlainCase(text)) written.push(text.toUpperCase())
        for (const other of written) expect(normaliseText(other)).to.equal(normal)
      }),
      { numRuns: 1000 },
    )
  })
})

/** Legal forms and abbreviations of the Companies Act 2014, otherwise of ISO 20275. */
const FORMS: Record<string, string[]> = {
  ltd: (
    'Cuideachta Phríobháideach Theoranta/LIMITED/Ltd/Ltd./L.T.D./LMTD/' +
    'Private Company Limited by Shares/TEORANTA/Teo/Teo.'
  ).split('/'),
  dac: (
    'Designated Activity Company Limited by Shares/Designated Activity Company Limited by Guarantee/' +
    '(Designated Activity Company)/DESIGNATED ACTIVITY COMPANY/DAC/D.A.C./' +
    'Cuideachta Ghníomhaíochta Ainmnithe/CGA/C.G.A.'
  ).split('/'),
  clg: 'COMPANY LIMITED BY GUARANTEE/CLG/C.L.G./Cuideachta faoi Theorainn Ráthaíochta/CTR/c.t.r.'.split('/'),
  plc: 'PUBLIC LIMITED COMPANY/PLC/p.l.c./Cuideachta Phoiblí Theoranta/CPT/C.P.T.'.split('/'),
  uc: (
    'Private Unlimited Company/Public Unlimited Company/UNLIMITED COMPANY/UC/U.C./ULC/U.L.C./' +
    'Cuideachta Neamhtheoranta/CN/C.N.'
  ).split('/'),
  icav: 'Irish Collective Asset-management Vehicle/ICAV'.split('/'),
  se: 'Societas Europaea/SE/S.E.'.split('/'),
  eeig: 'European Economic Interest Grouping/EEIG/Grupáil Eorpach um Leas Eacnamaíoch/GELE'.split('/'),
  ilp: 'Investment Limited Partnership/ILP/Comhpháirtíocht Theoranta Infheistíochta/CTI'.split('/'),
  lp: 'Limited Partnership/LP/L.P.'.split('/'),
  llp: 'Limited Liability Partnership/LLP'.split('/'),
}

describe('the legal form of a name', () => {
  for (const [suffix, forms] of Object.entries(FORMS)) {
    it(`[12.1] is ${suffix} in every notation`, () => {
      for (const form of forms)
        for (const name of [`Example Foods ${form}`, `EXAMPLE FOODS, ${form.toUpperCase()}`])
          expect(parseName(name), name).to.deep.equal({ core: ['example', 'foods'], suffix })
    })
  }

  it('is split off once and only at the end', () => {
    expect(parseName('LIMITED EDITIONS').suffix).to.equal('')
    expect(parseName('UNLIMITED FOODS LTD')).to.deep.equal({ core: ['unlimited', 'foods'], suffix: 'ltd' })
    expect(parseName('FOODS LIMITED LIMITED')).to.deep.equal({ core: ['foods', 'limited'], suffix: 'ltd' })
  })

  it('is never the whole name', () => {
    for (const form of Object.values(FORMS).flat()) expect(parseName(form).core, form).not.to.deep.equal([])
    expect(parseName('LIMITED')).to.deep.equal({ core: ['limited'], suffix: '' })
  })

  it('is not recognised in short names and ordinary words', () => {
    for (const name of ['A1 SE', '12 CN', 'GO LP', 'U2 TEO', 'MOTORS CO', 'FOODS GROUP', 'FOODS INC'])
      expect(parseName(name).suffix, name).to.equal('')
    for (const name of ['CNOC SÉ', 'Pádraig O Sé', 'CNOC SE\u0301.']) expect(parseName(name).suffix, name).to.equal('')
    expect(parseName('CNOC SÉ LIMITED')).to.deep.equal({ core: ['cnoc', 'se'], suffix: 'ltd' })
    expect(parseName('CAFÉ NERO SE')).to.deep.equal({ core: ['cafe', 'nero'], suffix: 'se' })
  })
})

describe('a misspelt or attached legal form', () => {
  const cases: [name: string, core: string, suffix: string][] = [
    ['Kerry Foods Limted', 'kerry foods', 'ltd'],
    ['Kerry FoodsLimited', 'kerry foods', 'ltd'],
    ['KerryLTD', 'kerry', 'ltd'],
    ['Kltd', 'kltd', ''],
    ['Kerry Foods Teranta', 'kerry foods', 'ltd'],
    ['Kerry Foods Desginated Activty Company', 'kerry foods', 'dac'],
    ['Kerry Foods Compny Limited by Guarantee', 'kerry foods', 'clg'],
    ['Kerry Foods Ltd', 'kerry foods', 'ltd'],
    ['Coffee Unlimited', 'coffee unlimited', ''],
    ['Leeds United', 'leeds united', ''],
    ['Kerry Foods Lt', 'kerry foods lt', ''],
    ['Kerry Foods Company', 'kerry foods company', ''],
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

/** Whether upper and lower case map to each other, which is not so for some letters. */
function hasPlainCase(text: string): boolean {
  return Array.from(text).every((letter) => letter.toUpperCase().toLowerCase() === letter.toLowerCase())
}
