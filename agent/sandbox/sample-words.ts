/**
 * The words of the made-up register. What makes a name one company's own is invented from syllables; only the words
 * that thousands of companies share (trades, endings, legal forms, counties) are the ordinary ones.
 */
import { below, pick, randomFor, type Random, type Weighted } from './sample-random.ts'

const STEM_STARTS = (
  'BAL BIR BOL CER CIN DAV DOL DUR FAL FIN GAR GOR HEL HOL JAN KAR KOR LEN LIR LUM MEL NEL NIR PAL PER ROV SEL SIL TEN TOL ' +
  'BEL BRAN CAL COR DAL DREN FEN FOR GAL GLEN HAR JOR KEL KIV LAN LOR MAR MEV NAR NOV OR PEL PRAX QUIN RAV ' +
  'SAL SOR TAL TREV UL VAN VEX WEN YAR ZEL ZOR'
).split(' ')
const STEM_MIDDLES =
  'A AB AD AL AN AV DA DO E EB EL EN GO I IB IM IN KA LO MI NU O OB OD OL RI SU TE U UM UV VI XA ZU'.split(' ')
const STEM_ENDS = (
  'AN AX AY ED EN ER ET EY ID IN IS IX OK ON OS OT OX UM US YS ' +
  'BIX BON DAL DOR FEN GAN KEX LIN LOR MON NEX PAR RON SOL TAN VEL VOR ZON ' +
  'BAR BEX BREL DAN DEX DRIM FAX FEL GARD GON KARN KEM LAR LEX LUN MARN MEX NAX NOR PEX KEL RAN RIX SEN ' +
  'TARN TIX TOR VAR VEN VIN ZAN ZEX'
).split(' ')

/**
 * Invented words that companies share are drawn by rank, each doubling of the ranks as often as every other: a step
 * function of Zipf's law, in whole numbers so that no engine rounds another way. The most shared word of 100,000 names is
 * in about 25 of them, since the ordinary words have the register's first ranks.
 */
const SHARED_DOUBLINGS_FIRST = 10
const SHARED_DOUBLINGS = 4
/** The words are the same with every seed: a stream of their own. */
const SHARED_STEM_SEED = 0
const SHARED_STEM_STREAM = 10

/** Words of two syllables are four thousand, so the ranks after these have three. */
const SHORT_DOUBLINGS_LAST = 11

/** An invented word of 6 to 12 letters, one of 5.7 million. Always an ASCII one; fadas and apostrophes are put on later. */
export function stem(random: Random): string {
  return word(random, 2)
}

/** One of 5 to 10 letters, one of 158,000: enough to tell companies apart together with another word. */
export function shortStem(random: Random): string {
  return word(random, 1)
}

/** An invented word of 4 to 10 letters that other companies have in their names as well, the low ranks the most often. */
export function sharedStem(random: Random): string {
  const doubling = SHARED_DOUBLINGS_FIRST + below(random, SHARED_DOUBLINGS)
  const rank = 2 ** doubling + below(random, 2 ** doubling)
  return word(randomFor(SHARED_STEM_SEED, rank, SHARED_STEM_STREAM), doubling > SHORT_DOUBLINGS_LAST ? 1 : 0)
}

function word(random: Random, middles: number): string {
  const parts = [STEM_STARTS, ...Array.from({ length: middles }, () => STEM_MIDDLES), STEM_ENDS]
  return parts.map((syllables) => pick(random, syllables)).join('')
}

/** What companies do; the weights follow how often the register's names say it. */
export const TRADES: Weighted<string> = [
  ['CONSTRUCTION', 13],
  ['PROPERTY', 10],
  ['ENGINEERING', 9],
  ['CONSULTING', 8],
  ['FARM', 12],
  ['MANAGEMENT', 8],
  ['ELECTRICAL', 6],
  ['MEDICAL', 5],
  ['AVIATION', 4],
  ['ENERGY', 5],
  ['DESIGN', 5],
  ['MEDIA', 5],
  ['FOOD', 6],
  ['AGRI', 6],
  ['TECH', 6],
  ['CARE', 6],
  ['DIGITAL', 4],
  ['LEASING', 4],
  ['FINANCE', 4],
  ['HEALTH', 4],
  ['HOUSE', 4],
  ['HOMES', 3],
  ['TRANSPORT', 3],
  ['TECHNOLOGY', 3],
  ['PLANT HIRE', 3],
  ['CATERING', 3],
  ['SOFTWARE', 2],
  ['SECURITY', 2],
  ['RETAIL', 2],
  ['TRAINING', 2],
  ['PLUMBING', 2],
  ['HEATING', 2],
  ['FITNESS', 2],
  ['MOTORS', 2],
  ['BARS', 2],
  ['CAFE', 2],
  ['ART', 2],
  ['BAKERY', 1],
  ['JOINERY', 1],
]

/** How names end before the legal form. */
export const ENDINGS: Weighted<string> = [
  ['SERVICES', 30],
  ['HOLDINGS', 26],
  ['IRELAND', 28],
  ['CONSULTING', 10],
  ['SOLUTIONS', 14],
  ['INVESTMENTS', 8],
  ['DEVELOPMENTS', 6],
  ['VENTURES', 8],
  ['CAPITAL', 8],
  ['EUROPE', 7],
  ['TRADING', 6],
  ['PROPERTIES', 6],
  ['INTERNATIONAL', 5],
  ['GROUP', 8],
  ['GLOBAL', 5],
  ['FOODS', 6],
  ['FARMS', 6],
  ['CO', 6],
  ['LABS', 4],
  ['WORKS', 4],
  ['ENTERPRISES', 4],
  ['SYSTEMS', 4],
  ['CONTRACTORS', 2],
  ['SUPPLIES', 2],
  ['OWNERS MANAGEMENT', 2],
]

/** Irish names put the trade first: SEIRBHÍSÍ and an invented word. */
export const IRISH_TRADES = ['SEIRBHÍSÍ', 'TÓGÁLAITHE', 'FORBAIRT', 'COMHAIRLEOIRÍ', 'BIA', 'TAISTIL', 'MEÁIN'] as const

export const COUNTIES = (
  'DUBLIN CORK GALWAY LIMERICK KILDARE MEATH WICKLOW WEXFORD KERRY MAYO DONEGAL LOUTH TIPPERARY WATERFORD ' +
  'CLARE KILKENNY WESTMEATH OFFALY LAOIS SLIGO CAVAN ROSCOMMON MONAGHAN CARLOW LONGFORD LEITRIM'
).split(' ')

export const STREETS = [
  'ROAD',
  'STREET',
  'AVENUE',
  'LANE',
  'PARK',
  'COURT',
  'SQUARE',
  'BUSINESS PARK',
  'HOUSE',
] as const

/** An invented town, in the form of an Irish place name. */
export function town(random: Random): string {
  return `${pick(random, ['BALLY', 'KIL', 'DUN', 'RATH', 'CLON'])}${stem(random)}`
}

/** A number from 1 up to the given one, low ones more often, as house and unit numbers are. */
export function lowNumber(random: Random, last: number): number {
  return 1 + Math.min(below(random, last), below(random, last))
}
