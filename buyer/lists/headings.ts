/** What a heading of a list says about its column: a vocabulary of whole cells. Runs in browsers too. */
import { normaliseText } from '../../store/index/normalise-name.ts'

/**
 * `plain_number`: a number of an unknown kind. `other`: a value that no request uses, such as the name of a person. The
 * rank says how surely the column has company names or numbers.
 */
export type Heading =
  | { kind: 'name' | 'company_number'; rank: number }
  | { kind: 'eircode' | 'plain_number' | 'other' }
  /** `of`: the address that the line or the place is a part of, such as `registered`. */
  | { kind: 'address_line' | 'address_place'; of: string }

const COMPANY = '(?:company|companies|organi[sz]ation|(?:legal )?entity|entities|firm|corporate)s?'
const PARTY = '(?:business|customer|client|vendor|supplier|creditor|debtor|trader|payee|contractor|employer)s?'
const ENTITY = `(?:${COMPANY}|${PARTY})`
const OFFICIAL = '(?:registered|legal|official|statutory|cro)'
const REGISTRATION = '(?:registered|registration|register|regd|reg)'
const NUMBER = '(?:number|num|no|nr|id)s?'
const COUNTRY = '(?:(?:in )?ireland|irish|roi|ie)'
const CRO_WORD = `(?:${ENTITY}|${REGISTRATION}|${COUNTRY}|${NUMBER}|co|ref|reference|code)`
const NAME_WORD = `(?:${ENTITY}|${OFFICIAL}|${COUNTRY}|co|full)`

const OF_WHAT = `(?:${ENTITY}|${REGISTRATION}|co|account|contact|legal|trading|cro|crn|vat|tax|invoice|billing|postal|bank|parent|group)`
const VALUE =
  '(?:(?:first |last |full |short |given |middle )?name|number|no|num|nr|id|code|ref|reference|country|e ?mail|phone|' +
  'telephone|tel|mobile|fax|web(?:site)?|contact|type|status|date|amount|currency|category|description|comment|note)s?'

const ADDRESS_OF = '(?:registered|legal|billing|invoice|postal|mailing|delivery|shipping|trading|head)'
const ADDRESS_START = `^(?:${ENTITY} ?|co )?(${ADDRESS_OF})?(?: ?office)? ?`

const whole = (pattern: string) => new RegExp(`^(?:${pattern})(?: ?[0-9])?$`)

/** The first that fits counts. */
const RANKED: readonly [kind: 'name' | 'company_number', rank: number, pattern: RegExp][] = [
  ['company_number', 3, whole(`(?:${CRO_WORD} ?)*(?:cro|crn)(?: ?${CRO_WORD})*`)],
  ['company_number', 2, whole(`(?:(?:${ENTITY}|${COUNTRY}|co) ?)*${REGISTRATION} ?(?:${COUNTRY} )?${NUMBER}`)],
  ['company_number', 2, whole(`(?:company|co) ?${REGISTRATION}`)],
  ['company_number', 1, whole(`(?:${COUNTRY} )?(?:company|co) ?(?:number|num|no|nr)s?`)],
  ['name', 3, whole(`(?:${ENTITY} ?)?(?:trading|trade|business|brand) ?(?:as|name|style)|t ?a|dba`)],
  [
    'name',
    6,
    whole(`(?:${NAME_WORD} ?)*${OFFICIAL} ?(?:${NAME_WORD} ?)*names?(?: of (?:the )?${ENTITY})?|legal entity`),
  ],
  ['name', 5.5, whole(`(?:${NAME_WORD} ?)*(?:${COMPANY}|co) ?(?:full )?names?|names? of (?:the )?${COMPANY}`)],
  ['name', 5, whole(`(?:${OFFICIAL} ?)?${COMPANY}`)],
  ['name', 4.5, whole(`(?:${NAME_WORD} ?)*${PARTY} ?(?:full )?names?|names? of (?:the )?${PARTY}`)],
  ['name', 4, whole(PARTY)],
  ['name', 2, whole('(?:account |full )?names?')],
]
const EIRCODE = whole(`(?:${ENTITY} ?|${ADDRESS_OF} ?)*(?:eir ?code|post ?code|postal code|zip(?: ?code)?)s?`)
const ADDRESS_LINE = new RegExp(
  `${ADDRESS_START}(?:(?:address|addr|street)(?:es)?(?: ?(?:address|line|name))?(?: ?[1-9])?)$`,
)
const OFFICE = /^registered office$/
const ADDRESS_PLACE = new RegExp(`${ADDRESS_START}(?:address )?(?:town|city|county|locality)(?: (?:town|city))?$`)
const PLAIN_NUMBER = whole(`(?:(?:${COMPANY}|co) ?)?${NUMBER}`)
const OTHER = whole(`surname|parent ?${COMPANY}|(?:${OF_WHAT} ?)*${VALUE}(?: ?(?:${VALUE}|address))?`)

/** A longer cell is no heading. */
const CHARACTERS_MAX = 40

/** Undefined for a text that is on no list. `Supplier (Ireland)` is read with and without its parenthesis. */
export function readHeading(text: string): Heading | undefined {
  const written = text.trim().replaceAll('#', ' no ')
  if (written.length > CHARACTERS_MAX) return undefined
  return readWords(normaliseText(written)) ?? readWords(normaliseText(written.replace(/\(.*\)/, '')))
}

function readWords(words: string): Heading | undefined {
  const [kind, rank] = RANKED.find(([, , pattern]) => pattern.test(words)) ?? []
  if (kind !== undefined && rank !== undefined) return { kind, rank }
  if (EIRCODE.test(words)) return { kind: 'eircode' }
  if (OFFICE.test(words)) return { kind: 'address_line', of: 'registered' }
  const line = ADDRESS_LINE.exec(words)
  if (line) return { kind: 'address_line', of: line[1] ?? '' }
  const place = ADDRESS_PLACE.exec(words)
  if (place) return { kind: 'address_place', of: place[1] ?? '' }
  if (PLAIN_NUMBER.test(words)) return { kind: 'plain_number' }
  return OTHER.test(words) ? { kind: 'other' } : undefined
}
