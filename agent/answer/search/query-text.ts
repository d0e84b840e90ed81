/**
 * Cleans the text of a query before it is parsed as a name. Handles a trading name, a note, a place or a number after
 * the legal form, in a web or e-mail address, or with letters that a wrong encoding changed.
 */
import { normaliseWords, parseName } from '../../../store/index/normalise-name.ts'
import { isAmbiguousForm } from '../../../store/index/suffixes.ts'

const WORD = /[\p{L}\p{N}]+/gu
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u
/** Introduces a trading name, which the register does not hold. */
const TRADING_AS = /(?:^|[^\p{L}\p{N}])(?:t\s?\/\s?as?|trading as)(?![\p{L}\p{N}])/iu
/**
 * The beginning of a text that is not part of the name, even if it ends in a legal form: another name of the company.
 */
const OTHER_NAME =
  /^[^\p{L}\p{N}]*(?:t\s?\/?\s?as?|tx|trading as|f\s?\/?\s?k\s?\/?\s?a|formerly|formally|previously)(?![\p{L}\p{N}])/iu
/** "Company No. 123", "Co. Reg. Number 123": not part of the name. */
const NUMBER_OF_COMPANY =
  /^[^\p{L}\p{N}]*(?:company|co)[^\p{L}\p{N}]*(?:\d|(?:no|nr|num|number|reg|regd|registered|registration|id)(?!\p{L}))/iu
/** "Limited Edition", "Limited Liability Company", "PLC & Controls": the form is a part of the name. */
const CONTINUES_NAME =
  /^[^\p{L}\p{N}]*(?:[&+]|(?:and|agus|by|company|co|editions?|liability|partnership)(?![\p{L}\p{N}]))/iu

interface SplitText {
  /** The name up to its first legal form. */
  before: string
  /** The text after it; empty when there is none or the name does not end before it. */
  after: string
}

/** Reads a name up to its first legal form. A legal form that is also an ordinary word does not count. */
export function splitTextAfterForm(name: string): SplitText {
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
 * The company in "X T/A Y": the name before "T/A" or "trading as", or the one after it if only that one has a legal
 * form. The whole name without "T/A".
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

/** Ends of domains that companies in Ireland use. A name with another end is not read as an address. */
const DOMAIN_ENDS = String.raw`ie|com|net|org|eu|info|biz|co\.uk|uk|io|ai|app|shop|online`
const ADDRESS = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?:https?:\/\/)?(?:([\w.+-]+)@|www\.)?(?:[a-z0-9-]+\.)*?([a-z0-9-]{2,})\.(?:${DOMAIN_ENDS})(?![\p{L}\p{N}@.-]|\.[\p{L}\p{N}])(?:[/?#:]\S*)?`,
  'iu',
)
/** Domains of mail services. The company is in the part before the @. */
const MAIL_SERVICES: ReadonlySet<string> = new Set('gmail hotmail outlook yahoo icloud eircom live'.split(' '))
/** Characters between the words of an address. */
const BETWEEN_WORDS = /[-._+]+/g

/** The name with the words of its web or e-mail address in place of the address. */
export function replaceWebAddress(name: string): string {
  return name.replace(ADDRESS, (_address, mailbox: string | undefined, domain: string) => {
    const isMailService = mailbox !== undefined && MAIL_SERVICES.has(domain.toLowerCase())
    return ` ${(isMailService ? mailbox : domain).replaceAll(BETWEEN_WORDS, ' ')} `
  })
}

/**
 * Vowels with a fada in UTF-8 that was read as Windows-1252 or Latin-1 twice, after NFKC and without control
 * characters.
 */
const MISREAD_TWICE: readonly [RegExp, string][] = [
  [/Ãƒ?Â¡/gu, 'á'],
  [/Ãƒ?Â©|Ãƒâ€°/gu, 'é'],
  [/Ãƒ?Â³|Ãƒ?Â3|Ãƒâ€œ|ÃƒÂ“/gu, 'ó'],
  [/Ãƒ?Âº|Ãƒ?Âo|ÃƒÅ¡/gu, 'ú'],
]

/** Restores the vowels that are still recognisable. Only in queries: the register has no such names. */
export function restoreVowels(text: string): string {
  if (!text.includes('Ã')) return text
  let restored = text
  for (const [misread, vowel] of MISREAD_TWICE) restored = restored.replace(misread, vowel)
  return restored
}

/**
 * Stands for a letter that is lost. A letter that no name contains, so that the spelling search finds words with any
 * letter in its place.
 */
const LOST_LETTER = 'ʔ'
/** A question mark or a replacement character beside a letter, or what is left of a vowel that was misread. */
const LOST = /(?<=[\p{L}\p{N}])[?\uFFFD]|[?\uFFFD](?=\p{L})|Ã(?:ƒÂ?|Â|(?![¡©‰³3“šºo]))[?\uFFFD]?/gu

export function markLostLetters(text: string): string {
  return text.replace(LOST, LOST_LETTER)
}
