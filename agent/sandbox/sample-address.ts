/** Addresses and Eircodes of the made-up register. No Eircode here can be anyone's: the routing keys are not assigned. */
import { below, happens, pick, pickWeighted, type Random, type Weighted } from './sample-random.ts'
import { COUNTIES, lowNumber, stem, STREETS, town } from './sample-words.ts'

/** The columns an address fills; an empty text is the register's null. */
type Address = { lines: readonly [string, string, string, string]; eircode: string }

/** The register's own words for a company without an address. */
export const NO_ADDRESS = '********NO ADDRESS DETAILS*******'
/** 22,962 of 814,897 rows. */
const NO_ADDRESS_RATE = 0.0282
/** Rates of empty second, third and fourth lines: 14.8, 49.4 and 3.1 %, of which the placeholder has its 2.8. */
const LINE_2_EMPTY_RATE = 0.123
const LINE_3_EMPTY_RATE = 0.479
const LINE_4_EMPTY_RATE = 0.003
/** The fourth line without town and county, `, Ireland`. */
const LINE_4_LEADING_COMMA_RATE = 0.031
/** First lines that are not all capitals. */
const MIXED_CASE_RATE = 0.58

/** Of the companies with an address: 63 % of all live ones have an Eircode, and 34.3 % of all. */
const EIRCODE_LIVE_RATE = 0.648
const EIRCODE_OTHER_RATE = 0.155
/** `X00 AC12`, `X00AC12`, and one that no check accepts. A few are in lower case. */
const EIRCODE_SHAPES: Weighted<(eircode: string, random: Random) => string> = [
  [(eircode) => eircode, 0.808],
  [(eircode) => eircode.replace(' ', ''), 0.188],
  [(eircode) => eircode.toLowerCase(), 0.0016],
  [(eircode, random) => pick(random, MALFORMED_EIRCODES)(eircode), 0.0024],
]
/** The slips the register has: fragments, a letter O for a zero, a hyphen, too short, too long. */
const MALFORMED_EIRCODES: readonly ((eircode: string) => string)[] = [
  () => '11',
  () => '00000',
  () => ',',
  (eircode) => eircode.replace('0', 'O').replace(' ', ''),
  (eircode) => eircode.replace(' ', '-'),
  (eircode) => eircode.slice(0, -1),
  (eircode) => `${eircode}7`,
]
/** Outside Dublin no routing key has a zero in its middle, and Dublin's end at D24: these and the agents' are nobody's. */
const ROUTING_KEYS = [
  'A07',
  'C06',
  'E08',
  'F05',
  'H09',
  'K03',
  'N06',
  'P08',
  'R04',
  'T07',
  'V05',
  'W02',
  'X08',
  'Y03',
] as const
/** The characters of an Eircode's second half; those that are easily misread are left out by its designers. */
const EIRCODE_CHARACTERS = 'ACDEFHKNPRTVWXY0123456789'

/**
 * Formation agents: one address and Eircode for many companies. The busiest has 1.3 % of the register's recent Eircodes,
 * the first four together 4.5 %.
 */
const AGENT_RATE = 0.06
const AGENTS: Weighted<Address> = [
  [
    { lines: ['FIRST FLOOR', '1 INCORPORATION QUAY', 'DUBLIN 2', 'DUBLIN 2, DUBLIN, Ireland'], eircode: 'D77 A7P4' },
    10,
  ],
  [{ lines: ['THE OLD SAMPLE MILL', '9 Formation Square', '', 'CORK, Ireland'], eircode: 'T07 XF21' }, 9],
  [{ lines: ['SUITE 12', 'REGISTRATION HOUSE', 'STAMP STREET', 'GALWAY, Ireland'], eircode: 'H09 K3N5' }, 8],
  [{ lines: ['UNIT 3D', 'CERTIFICATE PARK', '', 'DUBLIN 7, DUBLIN'], eircode: 'D88 V20C' }, 6],
]

export function address(random: Random, isLive: boolean): Address {
  const hasEircode = happens(random, isLive ? EIRCODE_LIVE_RATE : EIRCODE_OTHER_RATE)
  if (happens(random, NO_ADDRESS_RATE)) return { lines: [NO_ADDRESS, '', '', ''], eircode: '' }
  if (!hasEircode) return { lines: ownLines(random), eircode: '' }
  const shape = pickWeighted(random, EIRCODE_SHAPES)
  const { lines, eircode } = happens(random, AGENT_RATE)
    ? pickWeighted(random, AGENTS)
    : { lines: ownLines(random), eircode: ownEircode(random) }
  return { lines, eircode: shape(eircode, random) }
}

function ownLines(random: Random): Address['lines'] {
  const place = town(random)
  const county = pick(random, COUNTIES)
  return [
    firstLine(random),
    happens(random, LINE_2_EMPTY_RATE) ? '' : `${stem(random)} ${pick(random, STREETS)}`,
    happens(random, LINE_3_EMPTY_RATE) ? '' : place,
    fourthLine(random, place, county),
  ]
}

function firstLine(random: Random): string {
  const unit = happens(random, 0.4) ? 'UNIT ' : ''
  const line = `${unit}${lowNumber(random, 90)} ${stem(random)} ${pick(random, STREETS)}`
  return happens(random, MIXED_CASE_RATE) ? titleCase(line) : line
}

function fourthLine(random: Random, place: string, county: string): string {
  if (happens(random, LINE_4_EMPTY_RATE)) return ''
  if (happens(random, LINE_4_LEADING_COMMA_RATE)) return ', Ireland'
  return `${happens(random, 0.5) ? place : titleCase(place)}, ${county}, Ireland`
}

function ownEircode(random: Random): string {
  const half = Array.from({ length: 4 }, () => EIRCODE_CHARACTERS.charAt(below(random, EIRCODE_CHARACTERS.length)))
  return `${pick(random, ROUTING_KEYS)} ${half.join('')}`
}

function titleCase(text: string): string {
  return text.replace(/[A-Z]+/g, (word) => word.charAt(0) + word.slice(1).toLowerCase())
}
