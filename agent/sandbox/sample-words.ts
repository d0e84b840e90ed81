/**
 * The words of the made-up register. What makes a name one company's own is invented from syllables; only the words
 * that thousands of companies share (trades, endings, legal forms, counties) are the ordinary ones.
 */
import { below, pick, type Random, type Weighted } from './sample-random.ts'

const STEM_STARTS = (
  'BAL BIR BOL CER CIN DAV DOL DUR FAL FIN GAR GOR HEL HOL JAN KAR KOR LEN LIR LUM MEL NEL NIR PAL PER ROV SEL SIL TEN TOL ' +
  'BEL BRAN CAL COR DAL DREN FEN FOR GAL GLEN HAR JOR KEL KIV LAN LOR MAR MEV NAR NOV OR PEL PRAX QUIN RAV ' +
  'SAL SOR TAL TREV UL VAN VEX WEN YAR ZEL ZOR'
).split(' ')
const STEM_MIDDLES =
  'A AB AD AL AN AV DA DO E EB EL EN GO I IB IM IN KA LO MI NU O OB OD OL RI SU TE U UM UV VI XA ZU'.split(' ')
const STEM_ENDS = (
  'BIX BON DAL DOR FEN GAN KEX LIN LOR MON NEX PAR RON SOL TAN VEL VOR ZON ' +
  'BAR BEX BREL DAN DEX DRIM FAX FEL GARD GON KARN KEM LAR LEX LUN MARN MEX NAX NOR PEX QUEL RAN RIX SEN ' +
  'TARN TIX TOR VAR VEN VIN ZAN ZEX'
).split(' ')
/** An invented word of 7 to 12 letters, one of 3.8 million. Always an ASCII one; fadas and apostrophes are put on later. */
export function stem(random: Random): string {
  const parts = [STEM_STARTS, STEM_MIDDLES, STEM_MIDDLES, STEM_ENDS]
  return parts.map((syllables) => pick(random, syllables)).join('')
}

/** What companies do; the weights follow how often the register's names say it. */
export const TRADES: Weighted<string> = [
  ['CONSTRUCTION', 17],
  ['PROPERTY', 8],
  ['ENGINEERING', 11],
  ['CONSULTING', 12],
  ['ELECTRICAL', 5],
  ['FARM', 5],
  ['TRANSPORT', 5],
  ['FINANCE', 5],
  ['DESIGN', 5],
  ['MANAGEMENT', 15],
  ['TECHNOLOGY', 4],
  ['PLANT HIRE', 4],
  ['AVIATION', 4],
  ['FOOD', 4],
  ['MEDIA', 4],
  ['CATERING', 3],
  ['MEDICAL', 3],
  ['SOFTWARE', 3],
  ['LEASING', 3],
  ['ENERGY', 3],
  ['SECURITY', 3],
  ['RETAIL', 2],
  ['TRAINING', 2],
  ['PLUMBING', 2],
  ['HEATING', 2],
  ['AGRI', 2],
  ['DIGITAL', 2],
  ['BAKERY', 1],
  ['JOINERY', 1],
]

/** How names end before the legal form. */
export const ENDINGS: Weighted<string> = [
  ['SERVICES', 41],
  ['HOLDINGS', 33],
  ['IRELAND', 32],
  ['CONSULTING', 22],
  ['SOLUTIONS', 20],
  ['INVESTMENTS', 14],
  ['DEVELOPMENTS', 11],
  ['INTERNATIONAL', 10],
  ['TRADING', 9],
  ['PROPERTIES', 9],
  ['ENTERPRISES', 8],
  ['SYSTEMS', 6],
  ['GROUP', 5],
  ['CONTRACTORS', 3],
  ['SUPPLIES', 3],
  ['VENTURES', 4],
  ['OWNERS MANAGEMENT', 3],
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
