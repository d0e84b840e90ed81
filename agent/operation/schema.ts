/** What can be asked: the three operations, every input limit of spec section 8, and their canonical text (decisions 4). */
import { z } from 'zod'
import { COMPANY_NUMBER_PATTERN } from '../../store/company.ts'
import { hasHidden } from '../../store/hidden.ts'

/** Spec 8: `q`, `name` and `address`, counted in code points after normalisation. */
const TEXT_CODE_POINTS_MIN = 3
const TEXT_CODE_POINTS_MAX = 160
/** Spec 8: the status filter. */
const STATUS_CODE_POINTS_MAX = 80
/** Spec 8: seven letters or digits and optional spaces. */
const EIRCODE_CHARACTERS_MAX = 16
/** Spec 8: candidates in a response, and so the most that a search may ask for. */
export const CANDIDATES_MAX = 10
const LIMIT_DEFAULT = 5

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u

/** What is not there at all is told from what is not text. */
function textRule(rule: string) {
  return ({ input }: { input: unknown }) => (input === undefined ? 'is required' : rule)
}

/** NFKC, trimmed, inner white space to single spaces: the form that is counted, compared, hashed and echoed. */
function text(min: number, max: number) {
  return z
    .string({ error: textRule('must be text') })
    .refine((value) => !hasHidden(value), {
      error: 'must not contain control or invisible characters',
      abort: true,
    })
    .transform((value) => value.normalize('NFKC').trim().replace(/\s+/gu, ' '))
    .refine((value) => isBetween(Array.from(value).length, min, max), {
      error: `must have ${min} to ${max} characters after normalisation`,
      abort: true,
    })
    .refine((value) => LETTER_OR_DIGIT.test(value), { error: 'must contain a letter or a digit' })
}

/** A text of the longer kind, and what it is for. */
function longText(purpose: string) {
  const length = `${TEXT_CODE_POINTS_MIN} to ${TEXT_CODE_POINTS_MAX} characters after NFKC, trimming and joining of white space`
  return text(TEXT_CODE_POINTS_MIN, TEXT_CODE_POINTS_MAX).meta({ description: `${purpose}: ${length}.` })
}

const companyNumber = z
  .string({ error: textRule('must be text of 1 to 20 ASCII digits') })
  .regex(COMPANY_NUMBER_PATTERN, { error: 'must be 1 to 20 ASCII digits' })
  .meta({ description: 'Company number: 1 to 20 ASCII digits, as text. Leading zeros count.' })

const eircode = z
  .string({ error: 'must be text' })
  .refine((value) => value.length <= EIRCODE_CHARACTERS_MAX && /^[A-Za-z0-9]{7}$/.test(value.replaceAll(' ', '')), {
    error: 'must be seven ASCII letters or digits with optional spaces, at most 16 characters',
    abort: true,
  })
  .transform((value) => value.replaceAll(' ', '').toUpperCase())
  .meta({
    description: `Irish postcode as evidence: seven ASCII letters or digits, optional spaces, at most ${EIRCODE_CHARACTERS_MAX} characters.`,
  })

const limit = z
  .int({ error: `must be a whole number from 1 to ${CANDIDATES_MAX}` })
  .min(1, { error: `must be a whole number from 1 to ${CANDIDATES_MAX}` })
  .max(CANDIDATES_MAX, { error: `must be a whole number from 1 to ${CANDIDATES_MAX}` })
  .meta({
    description: `The most candidates to return, 1 to ${CANDIDATES_MAX}; ${LIMIT_DEFAULT} unless said otherwise.`,
  })

const lookupInputSchema = z.strictObject({ company_number: companyNumber })

const searchInputSchema = z.strictObject({
  q: longText('Company name, whole or in part'),
  limit: limit.default(LIMIT_DEFAULT),
  status: text(1, STATUS_CODE_POINTS_MAX)
    .meta({
      description: `Only companies of this status, in any case, 1 to ${STATUS_CODE_POINTS_MAX} characters; without it dissolved ones are found too.`,
    })
    .optional(),
  eircode: eircode.optional(),
})

const resolveInputSchema = z
  .strictObject({
    name: longText('Company name').optional(),
    company_number: companyNumber.optional(),
    eircode: eircode.optional(),
    address: longText('A fragment of the registered address, as evidence').optional(),
  })
  .refine((input) => input.name !== undefined || input.company_number !== undefined, {
    error: 'name or company_number is required',
  })

/** The input of each operation. What a schema says of itself is what the documents say of it. */
export const INPUT_SCHEMAS = { lookup: lookupInputSchema, search: searchInputSchema, resolve: resolveInputSchema }

export type LookupInput = z.output<typeof lookupInputSchema>
export type SearchInput = z.output<typeof searchInputSchema>
export type ResolveInput = z.output<typeof resolveInputSchema>

export type OperationName = keyof typeof INPUT_SCHEMAS

export const OPERATION_NAMES = Object.keys(INPUT_SCHEMAS) as OperationName[]

/** One valid request, with defaults filled in and absent optionals absent. */
export type Operation = {
  [Name in OperationName]: { operation: Name; input: z.output<(typeof INPUT_SCHEMAS)[Name]> }
}[OperationName]

/** Why an input is refused: the field (one of ours, or null for the whole) and the rule, never what was sent. */
export interface InputFault {
  field: string | null
  rule: string
}

export type ParsedOperation = { valid: true; operation: Operation } | { valid: false; fault: InputFault }

/** Checks an input of unknown shape against the rules of its operation. */
export function parseOperation(operation: OperationName, input: unknown): ParsedOperation {
  const parsed = INPUT_SCHEMAS[operation].safeParse(input, { reportInput: false })
  if (parsed.success) return { valid: true, operation: { operation, input: parsed.data } as Operation }
  return { valid: false, fault: faultOf(parsed.error.issues[0]) }
}

/** Reads a search's `limit` as it is written in a query: decimal digits, no sign, no leading zero. */
export function parseLimitText(value: string): number {
  return /^[1-9][0-9]?$/.test(value) ? Number(value) : Number.NaN
}

function faultOf(issue: z.core.$ZodIssue | undefined): InputFault {
  if (issue?.code === 'unrecognized_keys') return { field: null, rule: 'unknown fields are not accepted' }
  const [field] = issue?.path ?? []
  if (typeof field !== 'string')
    return { field: null, rule: issue?.code === 'custom' ? issue.message : 'must be an object' }
  return { field, rule: issue?.message ?? 'is not valid' }
}

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max
}
