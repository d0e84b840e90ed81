/** Splits a typed name from the text around it, and reads this text (contract 12.10). */
import { AFTER, BEFORE, IRELAND } from '../../operation/typed-number.ts'
import { normaliseText, normaliseWords, parseName } from '../../../store/index/normalise-name.ts'
import { FORM_ENDS, isAmbiguousForm, withoutLeadingForm } from '../../../store/index/suffixes.ts'
import { BREAK, findEircodes, readIdentifiedText, type IdentifiedText } from './identified-text.ts'
import { unifyAddress } from './own-address.ts'

export interface TextAround extends Omit<IdentifiedText, 'rest'> {
  /** Whether there is nothing to explain. */
  isEmpty: boolean
  /** Whether the text stands behind a legal form. Without one it can be a part of the name. */
  hasForm: boolean
  /** The words without introduced names. The name of another company can have them. */
  words: readonly string[]
  /** Runs of words that only the record of the company or a list explains. */
  open: readonly (readonly string[])[]
  /** The names that the company had, as written. */
  formerNames: readonly string[]
  /** How many names are introduced. */
  introduced: number
  /** The text behind `c/o`; empty if the name is behind it. */
  careOf: string | undefined
  /** The Eircodes in it: those of the agent, which the company has too, or its own. */
  agentEircodes: readonly string[]
}

const WORD = /[\p{L}\p{N}]+/gu
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u
/** Also "&" and "+", which are read as "and". */
const ANY_WORD = /[\p{L}\p{N}&+]/u

/** Introduces a trading name, which the register does not hold. Some notations are words of a name before its form. */
const TRADING_AS = String.raw`${BEFORE}(?:t\s?\/\s?as?|trading as|trading under the name(?: of)?|d\s?\/\s?b\s?\/\s?a|dba)${AFTER}`
const TRADING_AS_BEHIND_FORM = String.raw`(?:${TRADING_AS}|${BEFORE}(?:ta|t\.a)${AFTER}\.?)`
/** Introduces the name that the company had. */
const FORMER = String.raw`${BEFORE}(?:f\s?\/\s?k\s?\/\s?a|fka|(?:formerly|previously)(?: known as)?)${AFTER}`
const FORMER_BEHIND_FORM = String.raw`(?:${FORMER}|${BEFORE}(?:prev|was)${AFTER}\.?)`
const INTRODUCTION = `(?:${TRADING_AS}|${FORMER})`
const INTRODUCTION_BEHIND_FORM = `(?:${TRADING_AS_BEHIND_FORM}|${FORMER_BEHIND_FORM})`
/** The danger of an introduction: behind these words, another company than the one before it can be meant. */
const OTHER_COMPANY = String.raw`${BEFORE}(?:now|with|for|by|on behalf of|as trustees?)${AFTER}`
/** An introduced name ends at `,`, `;`, `|`, a bracket, a dash or slash between spaces, or what can be another one. */
const INTRODUCED = new RegExp(
  String.raw`${INTRODUCTION_BEHIND_FORM}(?:\s*[:–—-]\s*)?(?:(?!\s[-–—/]\s|${INTRODUCTION_BEHIND_FORM}|${OTHER_COMPANY})[^,;()[\]|${BREAK}])*`,
  'giu',
)
const BEGINS_AS_TRADING = new RegExp(`^${TRADING_AS_BEHIND_FORM}`, 'iu')
const BEGINS_AS_INTRODUCTION = new RegExp(String.raw`^${INTRODUCTION_BEHIND_FORM}(?:\s*[:–—-]\s*)?`, 'iu')
const [ANY_TRADING, ANY_INTRODUCTION] = [TRADING_AS, INTRODUCTION].map((source) => new RegExp(source, 'iu')) as [
  RegExp,
  RegExp,
]

const CARE = /care of/iu
/** Introduces the agent that takes the post of the company before it. */
const CARE_OF = new RegExp(String.raw`${BEFORE}(?:c\s?\/\s?o|care of)${AFTER}|℅`, 'iu')
const LEADING_CARE_OF = new RegExp(String.raw`^[^\p{L}\p{N}]*(?:c\s?\/\s?o|care of)${AFTER}`, 'iu')

/** Reads a name up to its first legal form, in its longest notation. A form that is also a word does not count. */
export function splitAfterForm(name: string): { before: string; behind: string } {
  let end = name.length
  let coreLength = Number.POSITIVE_INFINITY
  for (const { 0: word, index } of name.matchAll(WORD)) {
    const written = name.slice(0, index + word.length)
    // A single letter can be the last of "L.T.D."
    if (word.length > 1 && !FORM_ENDS.has(normaliseText(word))) continue
    const parsed = parseName(written)
    const isForm = parsed.suffix !== '' && !isAmbiguousForm(normaliseWords(written), parsed)
    if (!isForm || parsed.core.length > coreLength) continue
    end = index + word.length
    coreLength = parsed.core.length
  }
  const behind = name.slice(end)
  return LETTER_OR_DIGIT.test(behind) ? { before: name.slice(0, end), behind } : { before: name, behind: '' }
}

/** The company in "X T/A Y" and "X formerly Y": X, or after T/A Y if only Y has a legal form; and the text outside. */
export function splitTradingName(name: string): { named: string; outside: string } {
  const [trading, first] = [ANY_TRADING.exec(name), ANY_INTRODUCTION.exec(name)]
  if (!first || !LETTER_OR_DIGIT.test(name.slice(0, first.index))) return { named: name, outside: '' }
  if (trading) {
    const [before, after] = [name.slice(0, trading.index), name.slice(trading.index + trading[0].length)]
    const isLast = parseName(before).suffix === '' && parseName(`x ${after}`).suffix !== ''
    if (isLast) return { named: after, outside: before }
  }
  return { named: name.slice(0, first.index), outside: name.slice(first.index) }
}

/** The name without `c/o` before it; undefined if there is none. */
export function withoutLeadingCareOf(name: string): string | undefined {
  const [careOf] = LEADING_CARE_OF.exec(name) ?? []
  return careOf === undefined ? undefined : name.slice(careOf.length)
}

/** Splits off the text behind `c/o`. The company stands before it. */
export function splitCareOf(text: string): { text: string; careOf: string | undefined } {
  const found = text.includes('/') || text.includes('℅') || CARE.test(text) ? CARE_OF.exec(text) : null
  return found
    ? { text: text.slice(0, found.index), careOf: text.slice(found.index + found[0].length) }
    : { text, careOf: undefined }
}

/** Takes out introduced names up to their legal form: `formerly Mill Ltd now Moulin Ltd` leaves `now Moulin Ltd`. */
function takeOutIntroduced(text: string) {
  const formerNames: string[] = []
  let introduced = 0
  const rest = text.replace(INTRODUCED, (found) => {
    const { before, behind } = splitAfterForm(found)
    introduced += 1
    if (!BEGINS_AS_TRADING.test(found)) formerNames.push(before.replace(BEGINS_AS_INTRODUCTION, ''))
    return BREAK + behind
  })
  return { rest, formerNames, introduced }
}

const NOTHING: TextAround = {
  isEmpty: true,
  hasForm: false,
  words: [],
  open: [],
  formerNames: [],
  introduced: 0,
  careOf: undefined,
  agentEircodes: [],
  eircodes: [],
  domains: [],
  hasIdentity: false,
  hasOther: false,
}

/** `form`: the class of the legal form before the text, which may be repeated at once: "Limited (Ltd)". */
export function readTextAround(text: string, form: string, careOf?: string): TextAround {
  if (careOf === undefined && !ANY_WORD.test(text)) return { ...NOTHING, hasForm: form !== '' }
  const { rest: current, ...names } = takeOutIntroduced(text)
  const { rest, ...identified } = readIdentifiedText(current)
  const [first = [], ...others] = rest.split(BREAK).map((run) => normaliseWords(unifyAddress(run)))
  const open = [withoutLeadingForm(first, form), ...others].filter(({ length }) => length > 0)
  return {
    ...identified,
    ...names,
    isEmpty: false,
    hasForm: form !== '',
    words: withIreland(normaliseWords(current)),
    open,
    careOf,
    agentEircodes: findEircodes(careOf ?? ''),
  }
}

/** Another name has one notation of the country: `X Ltd (IRL)` can be X IRELAND LIMITED. */
function withIreland(words: readonly string[]): readonly string[] {
  const text = ` ${words.join(' ')} `
  return IRELAND.some((name) => text.includes(` ${name} `)) ? [...words, 'ireland'] : words
}

/** Whether the text has a name with a legal form of its own. */
export function hasOtherName(text: string): boolean {
  const { core, suffix } = parseName(`x ${takeOutIntroduced(text).rest}`)
  return suffix !== '' && core.length > 1
}
