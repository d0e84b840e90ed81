/** Queries that cannot find a company, which is told before anything is paid. Runs in browsers too. */
import type { Operation } from '../agent/operation/operation.ts'
import { registerNumbers } from '../agent/operation/typed-number.ts'
import { normaliseWords } from '../store/index/normalise-name.ts'
import { formsOf, SUFFIXES } from '../store/index/suffixes.ts'

/** Numbers of the register have at most so many digits. */
const NUMBER_DIGITS_MAX = 6
/** The letter and digits of a routing key, and the letters of a unique identifier. */
const EIRCODE = /^(?:[a-z][0-9]{2}|d6w)[ -]?[0-9ac-fhknprtv-y]{4}$/i
const FORMS: ReadonlySet<string> = new Set(SUFFIXES.flatMap(formsOf))
/** Words that leave a name as common as a legal form alone. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(['the', 'a', 'and', 'of', 'co', 'company', 'ireland', 'irish'])

/** Why the operation cannot find a company, with what to type instead. Undefined if it can. */
export function poorQuery({ definition, input }: Operation): string | undefined {
  const { company_number: number, q, name } = input as Partial<Record<string, string>>
  if (definition.name === 'lookup' || definition.name === 'resolve') {
    const digits = number === undefined ? '' : (registerNumbers(number).at(-1) ?? '')
    if (digits.length > NUMBER_DIGITS_MAX)
      return `A company number has at most six digits, and this one has ${digits.length}. Type it as the register writes it.`
  }
  return number === undefined ? poorName(q ?? name) : undefined
}

function poorName(name: string | undefined): string | undefined {
  if (name === undefined) return undefined
  if (EIRCODE.test(name.trim()))
    return 'This is an Eircode alone, and names are searched. Type the name, and add the Eircode to check it.'
  if (!/[\p{Script=Latin}0-9]/u.test(name.normalize('NFKD')))
    return 'The register has names in Latin letters only. Type the name as it is registered.'
  const words = normaliseWords(name)
  const rest = words.filter((word) => !EMPTY_WORDS.has(word)).join(' ')
  if (rest === '' || FORMS.has(rest) || FORMS.has(words.join(' ')))
    return 'Thousands of names have these words. Type the words before them too.'
  return undefined
}
