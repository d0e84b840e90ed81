/** Members of inputs that operations share: limits (contract 8) and the canonical form of inputs (contract 10). */
import * as z from 'zod'
import { COMPANY_NUMBER_PATTERN } from '../../store/dataset/company.ts'
import { hasHidden, removeIgnorable } from '../../base/hidden.ts'

/** For `q`, `name` and `address` (contract 4.2.1). Length is counted in code points after normalisation. */
const TEXT_CODE_POINTS_MIN = 3
const TEXT_CODE_POINTS_MAX = 160
/**
 * Before normalisation, whose time grows with the square of the length for combining marks. Enough for 160 characters
 * of four code points each (contract 4.2.1).
 */
const RAW_CODE_POINTS_MAX = 640
const STATUS_CODE_POINTS_MAX = 80
/** Seven letters or digits, and spaces (contract 4.2.1). */
const EIRCODE_CHARACTERS_MAX = 16
/** Candidates in a response, and the maximum of `limit` (contract 4.2.1). */
export const CANDIDATES_MAX = 10
/** Changes in a response, and the maximum of its `limit` (contract 4.10.1). */
export const CHANGES_MAX = 100
/** Company numbers of `changes` (contract 4.10.1). With them the head of a request stays below 4 KiB. */
export const NUMBERS_MAX = 100
export const NUMBERS_CHARACTERS_MAX = 1_000

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u

const countCodePoints = (value: string) => Array.from(value).length

/** The message for a value that is not text: a missing field has its own message. */
function textRule(rule: string) {
  return ({ input }: { input: unknown }) => (input === undefined ? 'is required' : rule)
}

/** Before NFKC, which turns them into the letters TM and SM. */
const TRADE_MARK_SIGNS = /[™℠]/gu
/** Pasted text contains tabs and line ends, which are control characters. */
const WHITE_SPACE = /\p{White_Space}+/gu

/**
 * Normalises to NFKC, trimmed, with single spaces, without ignorable characters and trade mark signs. This form is
 * counted, compared, hashed and returned.
 */
function text(min: number, max: number) {
  return z
    .string({ error: textRule('must be text') })
    .refine((value) => value.length <= 2 * RAW_CODE_POINTS_MAX && countCodePoints(value) <= RAW_CODE_POINTS_MAX, {
      error: `must have at most ${RAW_CODE_POINTS_MAX} characters before normalisation`,
      abort: true,
    })
    .transform((value) => removeIgnorable(value).replace(WHITE_SPACE, ' '))
    .refine((value) => !hasHidden(value), {
      error: 'must not contain control or invisible characters',
      abort: true,
    })
    .transform((value) => value.replace(TRADE_MARK_SIGNS, ' ').normalize('NFKC').trim().replace(/\s+/gu, ' '))
    .refine((value) => countCodePoints(value) >= min && countCodePoints(value) <= max, {
      error: `must have ${min} to ${max} characters after normalisation`,
      abort: true,
    })
    .refine((value) => LETTER_OR_DIGIT.test(value), { error: 'must contain a letter or a digit' })
}

/**
 * The limits of a text as JSON Schema, for clients that check before they send. They apply before normalisation, so
 * they refuse a few texts that normalisation makes valid. The pattern excludes control characters other than white
 * space; a regular expression for all hidden characters would not work in every language. The escapes are those that
 * both JavaScript and RE2 have.
 */
const textLimits = (minLength: number, maxLength: number) => ({ minLength, maxLength, pattern: NO_CONTROLS })

export const NO_CONTROLS = '^[^\\x00-\\x08\\x0E-\\x1F\\x7F-\\x84\\x86-\\x9F]*$'

export function longText(purpose: string) {
  const length = `${TEXT_CODE_POINTS_MIN} to ${TEXT_CODE_POINTS_MAX} characters after normalisation`
  return text(TEXT_CODE_POINTS_MIN, TEXT_CODE_POINTS_MAX).meta({
    description: `${purpose}: ${length}.`,
    ...textLimits(TEXT_CODE_POINTS_MIN, TEXT_CODE_POINTS_MAX),
  })
}

export const companyNumber = z
  .string({ error: textRule('must be text of 1 to 20 ASCII digits') })
  .regex(COMPANY_NUMBER_PATTERN, { error: 'must be 1 to 20 ASCII digits' })
  .meta({
    description: 'Company number: 1 to 20 digits, as text. Leading zeros are significant.',
    minLength: 1,
    maxLength: 20,
  })

/** Sorted as text, without repetitions. A query parameter has them separated by commas. */
export const companyNumbers = z
  .array(companyNumber, { error: 'must be a list of company numbers' })
  .min(1, { error: 'must have at least one company number' })
  .max(NUMBERS_MAX, { error: `must have at most ${NUMBERS_MAX} company numbers` })
  .refine((numbers) => numbers.join().length <= NUMBERS_CHARACTERS_MAX, {
    error: `must have at most ${NUMBERS_CHARACTERS_MAX} characters`,
    abort: true,
  })
  .overwrite((numbers) => [...new Set(numbers)].toSorted())
  .meta({
    description: `Only changes of these companies: at most ${NUMBERS_CHARACTERS_MAX} characters with commas.`,
  })

export const eircode = z
  .string({ error: 'must be text' })
  .refine((value) => value.length <= EIRCODE_CHARACTERS_MAX && /^[A-Za-z0-9]{7}$/.test(value.replaceAll(' ', '')), {
    error: 'must be seven ASCII letters or digits with optional spaces, at most 16 characters',
    abort: true,
  })
  .transform((value) => value.replaceAll(' ', '').toUpperCase())
  .meta({
    description: 'Irish postcode, as evidence: seven letters or digits, and spaces.',
    minLength: 7,
    maxLength: EIRCODE_CHARACTERS_MAX,
    pattern: '^ *([A-Za-z0-9] *){7}$',
  })

export function statusText(purpose: string, note = '') {
  return text(1, STATUS_CODE_POINTS_MAX).meta({
    description: `${purpose}, ignoring case.${note}`,
    ...textLimits(1, STATUS_CODE_POINTS_MAX),
  })
}

/** The form in which two status texts are compared. */
export function foldStatus(value: string): string {
  return value.normalize('NFKC').trim().toLowerCase()
}

export function countUpTo(max: number, things: string, byDefault: number) {
  const rule = `must be a whole number from 1 to ${max}`
  return z
    .int(rule)
    .min(1, rule)
    .max(max, rule)
    .meta({ description: `Maximum number of ${things}.` })
    .default(byDefault)
}

export function day(purpose: string) {
  return z.iso.date({ error: textRule('must be a day of the calendar, YYYY-MM-DD') }).meta({
    description: `${purpose}, YYYY-MM-DD, in UTC.`,
  })
}

/** The key of a file in the journal. Clients repeat it as they got it. */
export const stepKey = z.string().regex(/^[0-9a-z]{16}$/, { error: 'must be next_before of an earlier answer' })

export const cursor = z
  .string()
  .regex(/^[0-9a-z]{16}-[0-9]{1,20}$/, { error: 'must be next_cursor of an earlier answer' })
  .meta({
    description: '`next_cursor` of an earlier answer to the same query.',
  })

/** A number in a query string: decimal digits, no sign, no leading zero (contract 4.2.1). NaN otherwise. */
export function parseCount(value: string): number {
  return /^[1-9][0-9]{0,15}$/.test(value) ? Number(value) : Number.NaN
}
