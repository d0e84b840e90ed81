/** Builds the candidate for a company number: an explicit one, or one in the text of a query (contract 12.4, 12.20). */
import type { Company } from '../../../store/dataset/company.ts'
import { equivalentsOf } from '../../../store/index/equivalents.ts'
import { normaliseText } from '../../../store/index/normalise-name.ts'
import { openQueryBudgets } from '../../../store/index/operation-budget.ts'
import { analyseQuery } from '../../../store/index/query.ts'
import { editDistance, haveCompatibleNumbers, isNumeral, toCodeUnits } from '../../../store/index/spelling.ts'
import type { Candidate } from '../../operation/result.ts'
import { isSameNumber, registerNumbers } from '../../operation/typed-number.ts'
import { addressText, buildCandidate, type QueryEvidence } from './candidate.ts'
import { findEqualNames, exactMatchType, isEqualWhenJoined, joinedNames } from './equal-names.ts'
import { nameBeforeNotes, parseQueryName, type QueryName } from '../../operation/typed-name.ts'
import { readCompany, type Register } from './register.ts'
import { FUZZY_MAX, similarityMeasure } from './similarity.ts'

const matchType = 'company_number'

/** The registers of the query. The first has the company; another company with the name can be in any of them. */
type Registers = readonly [Register, ...Register[]]

export function candidateByNumber(
  company: Company,
  { name, ...evidence }: QueryEvidence & { name?: string | undefined },
  registers: Registers,
): Candidate {
  if (name === undefined) return buildCandidate(company, evidence, { matchType, similarity: 0 })
  const query = parseQueryName(name)
  const { number, numbers } = query
  const isOwn = (digits: string) => isSameNumber(digits, company.company_number)
  const own = numbers.others.find(isOwn)
  const typed = own === undefined ? query : parseQueryName(numbers.rest.replace(own, ' '))
  const comparison = number && isOwn(number.digits) ? { similarity: 0 } : compareNames(company, typed, registers)
  return buildCandidate(company, { ...evidence, numbers }, { matchType, ...comparison })
}

/** The company of the number, if the text is only a number, or if the name beside it agrees. */
export function findByTypedNumber(
  register: Register,
  { number, numbers }: QueryName,
  evidence: QueryEvidence,
): Candidate | undefined {
  const { labelled, others, rest } = numbers
  for (const digits of number ? [number.digits] : [...labelled, ...others]) {
    const position = registerNumbers(digits)
      .map((each) => register.names.findByNumber(each))
      .find((each) => each !== undefined && each !== register.withheld)
    if (position === undefined) continue
    const company = readCompany(register, position)
    if (number) return buildCandidate(company, evidence, { matchType, similarity: 0 })
    const name = parseQueryName(labelled.includes(digits) ? rest : rest.replace(digits, ' '))
    const comparison = compareNames(company, name, [register])
    if (!comparison.isOtherName) return buildCandidate(company, evidence, { matchType, ...comparison })
  }
  return undefined
}

function compareNames(
  company: Company,
  query: QueryName,
  registers: Registers,
): { similarity: number; exact?: 'strict_name' | 'relaxed_name'; isOtherName: boolean } {
  const named = nameBeforeNotes(query)
  const names = named ? [...query.whole, named] : query.whole
  const exact = exactMatchType(query, company.legal_name, names)
  if (exact) return { similarity: 1, exact, isOtherName: false }
  const equal = registers.flatMap((each) => {
    const accepts = (position: number) => position !== each.withheld
    return [...findEqualNames(each, query, names, { accepts, budgets: openQueryBudgets() }).values()]
  })
  // The names can differ in a leading "the".
  const own = equal.find((each) => each.company.company_number === company.company_number)
  if (own) return { similarity: 1, exact: own.exact, isOtherName: false }
  // The typed name equals the name of another company, so it contradicts the number.
  const isNameOfAnother = equal.length > 0
  if (joinedNames(query).some((each) => isEqualWhenJoined(each, company.legal_name)))
    return { similarity: FUZZY_MAX, isOtherName: isNameOfAnother }
  const { similarity, isOtherName } = compareSimilarName(registers[0], company, query)
  return { similarity, isOtherName: isOtherName || isNameOfAnother }
}

/** Words behind a name that say nothing about which company it is. */
const NEUTRAL: ReadonlySet<string> = new Set(
  (
    'and at branch co company county dissolved examinership head in ireland irish irl liquidation limited ltd of off ' +
    'office receivership registered republic struck voluntary'
  ).split(' '),
)

/**
 * The typed name speaks against the record in three cases: it has a word that is not in the record's name (behind a
 * word of the name, neutral words and those of the address do not count); it lacks a number of the name; it lacks more
 * than half of the name without being its beginning.
 */
function compareSimilarName({ names }: Register, company: Company, query: QueryName) {
  const { core, suffix } = query.similar
  const { spelling, pairs } = openQueryBudgets()
  const position = names.findByNumber(company.company_number)
  if (position === undefined) throw new Error('The name index does not fit its snapshot')
  const measure = similarityMeasure(names, analyseQuery(names, core, spelling), { suffix, budget: pairs })
  const { similarity } = measure(position)
  const legal = normaliseText(company.legal_name)
  const [named, typed] = [legal.split(' '), query.normal.split(' ')]
  const isBeginning = legal.startsWith(query.normal) && query.normal.length >= (named[0] ?? '').length
  const hasNumbers = named.every((word, at) => !isNumeral(word) || word === typed[at])
  if (isBeginning && hasNumbers) return { similarity, isOtherName: false }
  const last = suffix === '' && core.length > 1 ? (core.at(-1) ?? '') : ''
  const isCut = (word: string) => last.length > 1 && word.startsWith(last) && !isNumeral(word)
  const isNamed = (word: string, at: number) => isWithin(word, named) || (at === core.length - 1 && named.some(isCut))
  const first = core.findIndex(isNamed)
  const isNeutral = neutralFilter(company.registered_address, core)
  const isAgainst = core.some(
    (word, at) => word !== 'the' && !isNamed(word, at) && (at < first || !isNeutral(word, at)),
  )
  let lacking = 0
  for (const word of names.words(position)) {
    const text = names.dictionary.text(word)
    if (!isWithin(text, core) && !isCut(text)) lacking += isNumeral(text) ? Infinity : names.weights[word]!
  }
  return { similarity, isOtherName: isAgainst || lacking > names.nameWeights[position]! / 2 }
}

/**
 * Whether a word behind the name says nothing about the company. A number or letter is one of the address only if the
 * word before or after it is the same there.
 */
function neutralFilter(registered: Company['registered_address'], core: readonly string[]) {
  const address = addressText(registered)
  const isInAddress = (...words: (string | undefined)[]) => address.includes(` ${words.join(' ')} `)
  return (word: string, at: number) => {
    if (word.length > 1 && !isNumeral(word))
      return NEUTRAL.has(word) || [word, ...equivalentsOf(word)].some((each) => isInAddress(each))
    return isInAddress(core[at - 1], word) || isInAddress(word, core[at + 1])
  }
}

/** Whether a word is like one of the words, or is written together with others there. */
function isWithin(word: string, words: readonly string[]): boolean {
  return (
    words.some((each) => isLike(word, each)) || (word.length >= JOINED_LETTERS_MIN && words.join('').includes(word))
  )
}

const JOINED_LETTERS_MIN = 5
/** One letter in so many can be wrong, but not the first: MIDCO is not BIDCO. */
const LETTERS_PER_EDIT = 5

function isLike(word: string, named: string): boolean {
  if (word === named || equivalentsOf(word).has(named)) return true
  const edits = word[0] === named[0] ? Math.floor(Math.max(word.length, named.length) / LETTERS_PER_EDIT) : 0
  return haveCompatibleNumbers(word, named) && editDistance(toCodeUnits(word), toCodeUnits(named), edits) <= edits
}
