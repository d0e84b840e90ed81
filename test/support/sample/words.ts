/**
 * Fills templates with words. Distinctive words are invented; only words that thousands of companies share are real.
 */
import { below, pick, randomFor, weighted, type Random } from '../random.ts'

const syllables = (text: string) => text.trim().split(/\s+/)
const STARTS = syllables(`
  BAL BEL BIR BOL BRAN CAL CER CIN COR DAL DAV DOL DREN DUR FAL FEN FIN FOR GAL GAR GLEN GOR HAR HEL HOL JAN JOR KAR
  KEL KIV LAN LEN LIR LOR LUM MAR MEL MEV NAR NEL NIR NOV OR PAL PEL PER PRAX QUIN RAV ROV SAL SEL SIL SOR TAL TEN
  TOL TREV UL VAN VEX WEN YAR ZEL ZOR`)
const MIDDLES = syllables(`
  A AB AD AL AN AV DA DO E EB EL EN GO I IB IM IN KA LO MI NU O OB OD OL RI SU TE U UM UV VI XA ZU`)
const ENDS = syllables(`
  AN AX AY ED EN ER ET EY ID IN IS IX OK ON OS OT OX UM US YS BAR BEX BIX BON BREL DAN DEX DOR DRIM FAX FEL GAN GARD
  GON KARN KEL KEM KEX LAR LEX LIN LOR LUN MARN MEX MON NAX NEX NOR PAR PEX RAN RIX RON SEN SOL TAN TARN TIX TOR VAR
  VEL VEN VIN VOR ZAN ZEX ZON`)

/** The words do not depend on the seed of the register. */
const WORD_SEED = 0
/** Ranks up to this power of two have two syllables, ranks up to the next one three, and others four. */
const TWO_SYLLABLES_POWER = 11
const THREE_SYLLABLES_POWER = 18

/**
 * Draws an invented word by its rank, from `2 ** first` up to but not including `2 ** last`. Each doubling of the ranks
 * has the same probability, which approximates Zipf's law in integer arithmetic.
 */
function inventedWord(random: Random, first: number, last: number): string {
  const power = first + below(random, last - first)
  const stream = randomFor(WORD_SEED, 2 ** power + below(random, 2 ** power), 0)
  const middles = Number(power > TWO_SYLLABLES_POWER) + Number(power > THREE_SYLLABLES_POWER)
  return [STARTS, ...Array.from({ length: middles }, () => MIDDLES), ENDS].map((list) => pick(stream, list)).join('')
}

const FADAS: Readonly<Record<string, string>> = { A: 'Á', E: 'É', I: 'Í', O: 'Ó', U: 'Ú' }

export function withFada(text: string): string {
  return text.replace(/[AEIOU]/, (vowel) => FADAS[vowel] ?? vowel)
}

/** Eircodes exclude characters that are easily misread. Routing keys with D are those of Dublin. */
const EIRCODE_CHARACTERS = Array.from('ACDEFHKNPRTVWXY0123456789')
const ROUTING_LETTERS = Array.from('ACEFHKNPRTVWXY')

const townStart = weighted('BALLY 1, KIL 1, DUN 1, RATH 1, CLON 1')
const rareWord = (random: Random) => inventedWord(random, 18, 23)

/** The placeholders of templates. A template has no other lower-case letters. */
const PLACEHOLDERS: Readonly<Record<string, (random: Random) => string>> = {
  /** A word of one company, shared by several companies, with a fada, or of a group of companies. */
  u: rareWord,
  s: (random) => inventedWord(random, 10, 15),
  f: (random) => withFada(rareWord(random)),
  g: (random) => inventedWord(random, 7, 8),
  /** Trades and last words, weighted by their frequency in the names of the register. */
  t: weighted(`
    CONSTRUCTION 13, FARM 12, PROPERTY 10, ENGINEERING 9, CONSULTING 8, MANAGEMENT 8, ELECTRICAL 6, FOOD 6, AGRI 6,
    TECH 6, CARE 6, MEDICAL 5, ENERGY 5, DESIGN 5, MEDIA 5, AVIATION 4, DIGITAL 4, LEASING 4, FINANCE 4, HEALTH 4,
    HOUSE 4, HOMES 3, TRANSPORT 3, TECHNOLOGY 3, PLANT HIRE 3, CATERING 3, SOFTWARE 2, SECURITY 2, RETAIL 2,
    TRAINING 2, PLUMBING 2, HEATING 2, FITNESS 2, MOTORS 2, BARS 2, CAFE 2, ART 2, BAKERY 1, JOINERY 1`),
  e: weighted(`
    SERVICES 30, IRELAND 28, HOLDINGS 26, SOLUTIONS 14, CONSULTING 10, INVESTMENTS 8, VENTURES 8, CAPITAL 8, GROUP 8,
    EUROPE 7, DEVELOPMENTS 6, TRADING 6, PROPERTIES 6, FOODS 6, FARMS 6, CO 6, INTERNATIONAL 5, GLOBAL 5, LABS 4,
    WORKS 4, ENTERPRISES 4, SYSTEMS 4, CONTRACTORS 2, SUPPLIES 2, OWNERS MANAGEMENT 2`),
  i: weighted('SEIRBHÍSÍ 1, TÓGÁLAITHE 1, FORBAIRT 1, COMHAIRLEOIRÍ 1, BIA 1, TAISTIL 1, MEÁIN 1'),
  c: weighted(`
    DUBLIN 40, CORK 11, GALWAY 5, KILDARE 5, MEATH 4, LIMERICK 4, WICKLOW 3, DONEGAL 3, WEXFORD 3, KERRY 3, MAYO 3,
    LOUTH 3, TIPPERARY 3, WATERFORD 2, CLARE 2, KILKENNY 2, CAVAN 1, SLIGO 1, LAOIS 1, OFFALY 1, CARLOW 1, LEITRIM 1`),
  r: weighted('ROAD 9, STREET 9, AVENUE 3, LANE 3, PARK 3, COURT 2, SQUARE 2, BUSINESS PARK 2, HOUSE 1'),
  /** A town, a low number, a letter, a digit, and the first and another character of an Eircode. */
  p: (random) => townStart(random) + rareWord(random),
  n: (random) => String(1 + Math.min(below(random, 90), below(random, 90))),
  l: (random) => String.fromCodePoint(65 + below(random, 26)),
  d: (random) => String(below(random, 10)),
  k: (random) => pick(random, ROUTING_LETTERS),
  x: (random) => pick(random, EIRCODE_CHARACTERS),
}

/** Replaces each lower-case letter by a value of its placeholder. */
export function fill(random: Random, template: string): string {
  return template.replace(/[a-z]/g, (placeholder) => PLACEHOLDERS[placeholder]?.(random) ?? '')
}
