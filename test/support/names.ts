/** Generators of names that trigger every matching rule often, and name indexes built in memory. */
import fc from 'fast-check'
import { NameIndexBuilder } from '../../store/index/build.ts'
import { NameIndex } from '../../store/index/name-index.ts'
import { OperationBudget } from '../../store/index/operation-budget.ts'

/** Companies are numbered from 1. */
export function buildIndex(names: readonly string[]): NameIndex {
  const builder = new NameIndexBuilder()
  for (const [at, legal_name] of names.entries())
    builder.add({ company_number: String(at + 1), legal_name, status: 'Normal' })
  return new NameIndex(builder.parts())
}

/** A budget that is never exceeded. */
export const unlimited = () => new OperationBudget(Number.POSITIVE_INFINITY)

/** Spelling variants, words written together and apart, abbreviations, numbers, initials, another alphabet. */
const WORDS =
  'KERRY KERRI CORK CORKE CORKERY FOODS FOOD FARMS HOLDINGS HOLDING GROUP CLEAR POINT CLEARPOINT CLEARPONT INTERNATIONAL ' +
  'INTL SAINT ST STREET NO 1 2 57 58 II III TWO AND & THE A B AB O BRIEN OBRIEN MÓR MOR ОБЩЕСТВО BRIDGE BRIGDE'

const anyWord = fc.constantFrom(...WORDS.split(' '))

const anyForm = fc.constantFrom(
  'LIMITED',
  'LTD',
  'TEORANTA',
  'DAC',
  'DESIGNATED ACTIVITY COMPANY',
  'CLG',
  '',
  '',
  'LIMTED',
)

export const anyName = fc
  .tuple(fc.array(anyWord, { minLength: 1, maxLength: 5 }), anyForm)
  .map(([words, form]) => [...words, form].join(' ').trim())
