/** Text behind a name that identifies itself by its pattern, such as a telephone number (contract 12.10). */
import { AFTER, BEFORE, NO_LETTER } from '../../operation/typed-number.ts'
import { isMailService } from './typed-text.ts'

/** Between two runs of words. */
export const BREAK = '\n'

export interface IdentifiedText {
  /** The text without what identifies itself, with a break in its place. */
  rest: string
  /** Without spaces. Only that of the company explains anything. */
  eircodes: readonly string[]
  /** The words that web and e-mail addresses name, without spaces. They must not name another company. */
  domains: readonly string[]
  /** Whether there is a telephone number, VAT number, IBAN or LEI, which is a part of no name. */
  hasIdentity: boolean
  /** Whether there is other such text, which only explains itself behind a legal form. */
  hasOther: boolean
}

const digitsOf = (text: string) => text.replace(/[^0-9]/g, '')
const hasDigits = (text: string, least: number, most: number) =>
  digitsOf(text).length >= least && digitsOf(text).length <= most
const NUMBER = `(?:registration|reg|number|no|nr|id)`
/** Check digits of IBAN and LEI are 02 to 98. */
const CHECK = '(?!0[01]|99)[0-9]{2}'
/** The routing keys and the letters of the Eircode address database. */
const EIRCODE = String.raw`(?:d6w|[ac-fhknprtv-y][0-9]{2})[\s-]?[0-9ac-fhknprtv-y]{4}`

interface Pattern {
  expression: RegExp
  isValid: (found: string) => boolean
}

/** A pattern that stands between other words. */
const pattern = (source: string, isValid: Pattern['isValid'] = () => true): Pattern => ({
  expression: new RegExp(source, 'giu'),
  isValid,
})

const EIRCODES = pattern(`${BEFORE}(?:eircode${NO_LETTER}*)?${EIRCODE}${AFTER}`)

/** A web or e-mail address. One in another country explains nothing. */
const ADDRESSES = pattern(
  String.raw`(?:${BEFORE}(?:e-?mail|e|web(?:site)?|w)\s?[.:]\s*)?(?:https?:\/\/[^\s.]+\.\S+|${BEFORE}(?:www\.[^\s.]+\.\S+|[\w.+-]+@[\w.-]+\w|(?:[a-z0-9-]+\.)+(?:ie|com|net|org|eu)${AFTER}))`,
  (found) => !/^(?!ie$|eu$)[a-z]{2}$/iu.test(hostOf(found).at(-1) ?? ''),
)

/** Those of Ireland alone: those of another country can be of another company. */
const IDENTITIES: readonly Pattern[] = [
  pattern(String.raw`${BEFORE}(?:iban${NO_LETTER}*)?ie${CHECK} ?[A-Z]{4}(?: ?[0-9]{4}){3} ?[0-9]{2}${AFTER}`, (found) =>
    isIban(found.replace(/^iban/iu, '').replace(/[^A-Z0-9]/giu, '')),
  ),
  pattern(
    String.raw`${BEFORE}(?:lei${NO_LETTER}*)?[A-Z0-9]{18}${CHECK}${AFTER}`,
    (found) => modulo97(found.slice(-20)) === 1,
  ),
  pattern(
    String.raw`${BEFORE}(?:vat${AFTER}${NO_LETTER}*(?:${NUMBER}${AFTER}${NO_LETTER}*)*(?:ie\s?)?|ie\s?)[0-9][0-9a-z+*][0-9]{5}[a-w][a-i]?${AFTER}`,
    (found) => isVatNumber(/[0-9][0-9a-z+*][0-9]{5}[a-w][a-i]?$/iu.exec(found)?.[0] ?? ''),
  ),
  // A telephone number: with a label, international, national
  pattern(
    String.raw`${BEFORE}(?:telephone|tel|phone|ph|mobile|mob|fax|[tmpf](?=[.:]))${AFTER}[^\p{L}\p{N}+(]*(?:[+(]?[0-9][0-9\s()./-]{4,}[0-9])${AFTER}`,
    (found) =>
      isTelephone(found.replace(/^[^0-9+(]+/u, '')) || (/^[^0-9+]*[1-9]/u.test(found) && hasDigits(found, 6, 8)),
  ),
  pattern(String.raw`(?:\+|${BEFORE}00)\s?\(?[1-9][0-9\s()./-]{6,}[0-9]${AFTER}`, isTelephone),
  pattern(
    String.raw`\(?${BEFORE}0[1-9][0-9]{0,2}\)?[\s/-]?[0-9]{3,4}[\s-]?[0-9]{3,4}(?:[\s-]?[0-9]{1,4})?${AFTER}`,
    isTelephone,
  ),
]

const REFERENCE_LABELS = [
  String.raw`(?:invoice|inv|reference|ref|order|p\.?o\.?)${AFTER}${NO_LETTER}*(?:${NUMBER}${AFTER}${NO_LETTER}*)?`,
  String.raw`(?:customer|client|account|a\/c)${NO_LETTER}*(?:${NUMBER}|ref)${AFTER}${NO_LETTER}*`,
]
/** With two decimals. "EUR 2" can be a series. */
const AMOUNT = String.raw`[0-9]{1,3}(?:[,.' ]?[0-9]{3})*[.,][0-9]{2}`

const OTHERS: readonly Pattern[] = [
  // An amount in the currency of Ireland
  pattern(
    String.raw`(?:€|${BEFORE}eur)\s?${AMOUNT}(?![0-9.,]?[0-9])${AFTER}|${BEFORE}${AMOUNT}\s?(?:€|(?:eur|euros?)${AFTER})`,
  ),
  // A reference with a label
  pattern(String.raw`${BEFORE}(?:${REFERENCE_LABELS.join('|')})[a-z]{0,4}[-/]?[0-9][\w/-]{2,}${AFTER}`),
  // The kind of a payment, as bank statements have it
  pattern(
    String.raw`${BEFORE}(?:sepa(?:\s(?:ct|dd|credit transfer|direct debit|instant|payment|transfer))?|pos\s?[0-9]{4,})${AFTER}`,
  ),
  // "& others", "& Anor"
  pattern(String.raw`(?:[&+]|${BEFORE}and)\s*(?:others|ors|another|anor)${AFTER}`),
]

/** Replaces what the pattern finds and returns it. */
function takeOut(text: string, { expression, isValid }: Pattern): { rest: string; found: string[] } {
  const found: string[] = []
  const rest = text.replace(expression, (written) => {
    if (!isValid(written)) return written
    found.push(written)
    return BREAK
  })
  return { rest, found }
}

function takeOutAll(text: string, patterns: readonly Pattern[]): { rest: string; isFound: boolean } {
  const rest = patterns.reduce((left, each) => takeOut(left, each).rest, text)
  return { rest, isFound: rest !== text }
}

const toEircode = (found: string) =>
  found
    .replace(/[^A-Z0-9]/giu, '')
    .slice(-7)
    .toUpperCase()

/** The Eircodes of a text, without spaces. */
export function findEircodes(text: string): string[] {
  return takeOut(text, EIRCODES).found.map(toEircode)
}

export function readIdentifiedText(text: string): IdentifiedText {
  const addresses = takeOut(text, ADDRESSES)
  const hasDigit = /[0-9]/.test(addresses.rest)
  const identities = takeOutAll(addresses.rest, hasDigit ? IDENTITIES : [])
  const eircodes = hasDigit ? takeOut(identities.rest, EIRCODES) : { rest: identities.rest, found: [] }
  const others = takeOutAll(eircodes.rest, OTHERS)
  return {
    rest: others.rest,
    eircodes: eircodes.found.map(toEircode),
    domains: addresses.found.map(domainOf),
    hasIdentity: identities.isFound,
    hasOther: others.isFound || addresses.found.length > 0,
  }
}

/** The labels of the host of a web or e-mail address. */
function hostOf(address: string): string[] {
  const [host = ''] = /[^/?#:]*/u.exec(address.replace(/^.*(?:\s|:\/\/|@)/u, '')) ?? []
  return host.split('.').filter((label) => label !== '')
}

function domainOf(address: string): string {
  const domain = hostOf(address).at(-2) ?? ''
  const [, mailbox] = /([\w.+-]+)@/u.exec(address) ?? []
  return (mailbox !== undefined && isMailService(domain) ? mailbox : domain).toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** In Ireland: +353, or the 0 of an Irish area. 020, 03 and 048 are areas of the United Kingdom. */
function isTelephone(text: string): boolean {
  const isInternational = /^[\s(]*(?:\+|00)/u.test(text)
  const digits = digitsOf(text)
  if (isInternational) return /^(?:00)?3530?[1-9][0-9]{7,8}$/.test(digits)
  return /^0(?:1[0-9]{7}|(?!20|3|48)[2-9][0-9]{7,8})$/.test(digits)
}

/** ISO 7064, as check digits of IBAN and LEI use it: letters are numbers from 10 on. */
function modulo97(text: string): number {
  let rest = 0
  for (const character of text) {
    const value = parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest
}

function isIban(text: string): boolean {
  return modulo97(text.slice(4) + text.slice(0, 4)) === 1
}

const VAT_CHECK_LETTERS = 'wabcdefghijklmnopqrstuv'

/** Seven digits, a check letter and, since 2013, another letter. Older numbers have a letter or sign second. */
function isVatNumber(written: string): boolean {
  const text = written.toLowerCase()
  const digits = /^[0-9]{7}/.test(text) ? text.slice(0, 7) : `0${text.slice(2, 7)}${text.slice(0, 1)}`
  const [check = '', added = 'w'] = text.slice(7)
  const sum = Array.from(digits).reduce((total, digit, at) => total + Number(digit) * (8 - at), 0)
  return /[1-9]/.test(digits) && VAT_CHECK_LETTERS[(sum + 9 * VAT_CHECK_LETTERS.indexOf(added)) % 23] === check
}
