/** Company numbers as people type them: `335801`, `335 801`, `335,801.0`, `IECRO.335801` (contract 12.20). */

export interface TypedNumber {
  digits: string
  /** A text before the number says that it is a company number. */
  isLabelled: boolean
}

export interface TypedNumbers {
  labelled: readonly string[]
  /** Numbers without a label that have the length of a company number. They can also be a part of the name. */
  others: readonly string[]
  /** The text without the labelled numbers. */
  rest: string
}

/** Shorter numbers without a label are usually a part of a name, as is the number in `The Company 2000`. */
const UNLABELLED_DIGITS_MIN = 5
const LABELLED_DIGITS_MIN = 3
const DIGITS_MAX = 20

/** `NO_LETTER`: any character but letters and digits. `BEFORE` and `AFTER`: the limits of a whole word. */
export const NO_LETTER = String.raw`[^\p{L}\p{N}]`
export const BEFORE = String.raw`(?<![\p{L}\p{N}])`
export const AFTER = String.raw`(?![\p{L}\p{N}])`
/** Not the last word of a legal form. */
const COMPANY = String.raw`(?<!(?:activity|unlimited|public limited)\s)(?:company|co|comp)`
const REGISTERED = '(?:registered|registration|register|regd|reg)'
const NUMBER = '(?:number|num|no|nr|id)'
/** The country of the register, as normalised text. */
export const IRELAND: readonly string[] = [
  'ireland',
  'the republic of ireland',
  'republic of ireland',
  'rep of ireland',
  'roi',
  'irl',
  'ie',
  'eire',
]
const IRELAND_WRITTEN = IRELAND.map((name) => name.replaceAll(' ', `${NO_LETTER}+`).replace('eire', '[eé]ire')).join(
  '|',
)
/** `Registered in Ireland`, `a company incorporated in the Republic of Ireland with`. Not of Northern Ireland. */
const FOOTER = String.raw`(?:is\s)?(?:a\s)?(?:company\s)?(?:${REGISTERED}|incorporated)${NO_LETTER}+(?:in${NO_LETTER}+)?(?:${IRELAND_WRITTEN})${AFTER}${NO_LETTER}*`
const WITH = String.raw`(?:(?:with|under)\s)?(?:the\s)?`
/** The schemes of BRIS, org-id.guide and ETSI EN 319 412-1, and a page of OpenCorporates. */
const IDENTIFIER = String.raw`iecro\.|ie-cro-|ntrie-|https?:\/\/(?:www\.)?opencorporates\.com\/companies\/ie\/`
/** `CRO`, `CRN`, `Company No.`, `Co. Reg. Number:`, `Reg. No. IE`, `Registered in Ireland No.`. */
const LABEL = String.raw`(?:${IDENTIFIER}|(?:(?:${FOOTER})?${WITH}(?:cr[on](?:${NO_LETTER}+${NUMBER})?${NO_LETTER}*|(?:${COMPANY}|${REGISTERED})(?:${NO_LETTER}+${REGISTERED})?${NO_LETTER}+${NUMBER}${NO_LETTER}+)|${FOOTER}${WITH}${NUMBER}${NO_LETTER}+)(?:ie\s?)?)`
/** `Company 335801`, only if there is no other text: `Holding Company 81427` is a name. */
const WEAK_LABEL = String.raw`(?:${COMPANY}|ie)${NO_LETTER}*`
/** `No. 335801`, `Reg 335801`. `No 57` can be a name. */
const NEUTRAL_LABEL = String.raw`(?:${REGISTERED}|${NUMBER})${NO_LETTER}*`
/** With separators of thousands, or without. */
const AMOUNT = String.raw`[0-9]{1,3}(?:[,'’][0-9]{3})+|[0-9]{1,3}(?:[ -][0-9]{3}){1,2}(?![0-9])|[0-9]+`
const SPACED = /[ -]/
/** More digits with spaces between them are a telephone number. */
const SPACED_DIGITS_MAX = 7
const TELEPHONE_OR_AMOUNT = /^[^0-9]*(?:\+|00[1-9][0-9]{9})|^[^0-9]*0[1-9][0-9]{7,9}[^0-9]*$|[\p{Sc}%]/u
const LONG = `[0-9]{${UNLABELLED_DIGITS_MIN},${DIGITS_MAX}}`

const WHOLE = new RegExp(
  String.raw`^${NO_LETTER}*(?:(${LABEL}|${FOOTER}|${WEAK_LABEL})|(${NEUTRAL_LABEL}))?(${AMOUNT})(?:\.0*)?${NO_LETTER}*$`,
  'iu',
)
/** A cell of a spreadsheet in scientific notation. */
const SCIENTIFIC = /^[0-9](?:\.([0-9]+))?e\+?([0-9]{1,2})$/i
/** `Registered in Ireland 2015` has a year. */
const LABELLED = new RegExp(String.raw`${BEFORE}(?:${LABEL}(${AMOUNT})|${FOOTER}(${LONG}))${AFTER}`, 'giu')
const UNLABELLED = new RegExp(String.raw`${BEFORE}(?:ie${NO_LETTER}?)?(${LONG})${AFTER}`, 'giu')

/** The number of a text that has nothing else. */
export function readTypedNumber(text: string): TypedNumber | undefined {
  const trimmed = text.normalize('NFKC').trim()
  const [scientific, decimals = '', exponent] = SCIENTIFIC.exec(trimmed) ?? []
  // With fewer decimals the spreadsheet has lost the last digits.
  if (scientific !== undefined)
    return decimals.length === Number(exponent) && decimals.length < DIGITS_MAX
      ? { digits: `${scientific[0]}${decimals}`, isLabelled: false }
      : undefined
  const [, label, neutral, amount = ''] = WHOLE.exec(trimmed) ?? []
  const digits = toDigits(amount, { isClear: neutral === undefined })
  return digits === '' || (label === undefined && TELEPHONE_OR_AMOUNT.test(trimmed))
    ? undefined
    : { digits, isLabelled: label !== undefined }
}

/** Empty if the amount is not a company number. Spaces need as many digits as a missing label does. */
function toDigits(amount: string, { isClear }: { isClear: boolean }): string {
  const digits = amount.replace(/[^0-9]/g, '')
  const isSpaced = SPACED.test(amount)
  const isLong = digits.length >= UNLABELLED_DIGITS_MIN && digits.length <= (isSpaced ? SPACED_DIGITS_MAX : DIGITS_MAX)
  return isLong || (isClear && !isSpaced && digits.length <= DIGITS_MAX) ? digits : ''
}

/** Whether a text that is only this number names a company. */
export function namesCompany({ digits, isLabelled }: TypedNumber): boolean {
  return isLabelled || digits.length >= UNLABELLED_DIGITS_MIN
}

/** The numbers beside other text. */
export function findTypedNumbers(text: string): TypedNumbers {
  if (!/[0-9]/.test(text)) return { labelled: [], others: [], rest: text }
  const labelled: string[] = []
  const rest = text.replace(LABELLED, (written, amount?: string, long = '') => {
    const digits = toDigits(amount ?? long, { isClear: true })
    if (digits.length < LABELLED_DIGITS_MIN) return written
    labelled.push(digits)
    return ' '
  })
  return { labelled, others: Array.from(rest.matchAll(UNLABELLED), ([, digits = '']) => digits), rest }
}

/** The text without a number and the word before it that only says that it is one. */
export function withoutNumber(text: string, digits: string): string {
  return text.replace(
    new RegExp(`${BEFORE}(?:(?:${REGISTERED}|${NUMBER}|ie)${NO_LETTER}*)?${digits}${AFTER}`, 'iu'),
    ' ',
  )
}

/** The numbers of the register that a typed number can be: as typed, and without the zeros before it. */
export function registerNumbers(digits: string): string[] {
  return [...new Set([digits, digits.replace(/^0+(?=[0-9])/, '')])]
}

export function isSameNumber(one: string, other: string): boolean {
  return registerNumbers(one).at(-1) === registerNumbers(other).at(-1)
}
