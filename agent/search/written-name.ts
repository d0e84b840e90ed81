/** Splits what people write around a name: a trading name, a note, a place or a number after the legal form. */
import { normaliseWords, parseName } from '../../store/index/normalise-name.ts'
import { isAmbiguousForm } from '../../store/index/suffixes.ts'

const WORD = /[\p{L}\p{N}]+/gu
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u
/** Introduces a trading name, which the register does not hold. */
const TRADING_AS = /(?:^|[^\p{L}\p{N}])(?:t\s?\/\s?as?|trading as)(?![\p{L}\p{N}])/iu
/** The beginning of a text that is not part of the name, even if it ends in a legal form: another name of the company. */
const OTHER_NAME =
  /^[^\p{L}\p{N}]*(?:t\s?\/?\s?as?|tx|trading as|f\s?\/?\s?k\s?\/?\s?a|formerly|formally|previously)(?![\p{L}\p{N}])/iu
/** "Company No. 123", "Co. Reg. Number 123": not part of the name. */
const NUMBER_OF_COMPANY =
  /^[^\p{L}\p{N}]*(?:company|co)[^\p{L}\p{N}]*(?:\d|(?:no|nr|num|number|reg|regd|registered|registration|id)(?!\p{L}))/iu
/** "Limited Edition", "Limited Liability Company", "PLC & Controls": the form is a part of the name. */
const CONTINUES_NAME =
  /^[^\p{L}\p{N}]*(?:[&+]|(?:and|agus|by|company|co|editions?|liability|partnership)(?![\p{L}\p{N}]))/iu

interface WrittenName {
  /** The name up to its first legal form. */
  before: string
  /** The text after it; empty when there is none or the name does not end before it. */
  after: string
}

/** Reads a name up to its first legal form. A legal form that is also an ordinary word does not count. */
export function splitTextAfterForm(name: string): WrittenName {
  const whole = { before: name, after: '' }
  let end: number | undefined
  let coreLength = Number.POSITIVE_INFINITY
  for (const { 0: word, index } of name.matchAll(WORD)) {
    const written = name.slice(0, index + word.length)
    const parsed = parseName(written)
    const isForm = parsed.suffix !== '' && !isAmbiguousForm(normaliseWords(written), parsed)
    // The longest notation of the first form: "Company Limited by Guarantee" instead of "Limited".
    if (!isForm || parsed.core.length > coreLength) continue
    end = index + word.length
    coreLength = parsed.core.length
  }
  if (end === undefined) return whole
  const after = name.slice(end)
  return isTextAfterName(after) ? { before: name.slice(0, end), after } : whole
}

function isTextAfterName(text: string): boolean {
  if (!LETTER_OR_DIGIT.test(text)) return false
  if (OTHER_NAME.test(text) || NUMBER_OF_COMPANY.test(text)) return true
  if (CONTINUES_NAME.test(text)) return false
  // "Kerry Limited, Cork Limited" names two companies.
  return parseName(`x ${text}`).suffix === ''
}

/**
 * The company in "X T/A Y": the name before "T/A" or "trading as", or the one after it if only that one has a legal form. The
 * whole name without "T/A".
 */
export function splitTradingName(name: string): string {
  const [trading] = TRADING_AS.exec(name) ?? []
  if (trading === undefined) return name
  const at = name.indexOf(trading)
  const [before, after] = [name.slice(0, at), name.slice(at + trading.length)]
  if (!LETTER_OR_DIGIT.test(before)) return name
  return parseName(before).suffix === '' && parseName(`x ${after}`).suffix !== '' && LETTER_OR_DIGIT.test(after)
    ? after
    : before
}
