/** Builds the candidate for a company number: an explicit one, or one in the text of a query (contract 12.4, 12.20). */
import type { Company } from '../../../store/dataset/company.ts'
import { equivalentsOf } from '../../../store/index/equivalents.ts'
import { normaliseText, parseName } from '../../../store/index/normalise-name.ts'
import { openQueryBudgets } from '../../../store/index/operation-budget.ts'
import { analyseQuery } from '../../../store/index/query.ts'
import { editDistance, haveCompatibleNumbers, isNumeral, toCodeUnits } from '../../../store/index/spelling.ts'
import type { ParsedName } from '../../../store/index/suffixes.ts'
import type { Candidate } from '../../operation/result.ts'
import { isSameNumber, registerNumbers, withoutNumber } from '../../operation/typed-number.ts'
import { buildCandidate, type NameMatch, type QueryEvidence } from './candidate.ts'
import { findEqualNames, exactMatchType, isEqualWhenJoined, JOINED_LETTERS_MIN, joinedNames } from './equal-names.ts'
import { explain, explainedWords, type KnownEvidence } from './explained-words.ts'
import { readCompany, type Register } from './register.ts'
import { DOUBTFUL, FUZZY_MAX, similarityMeasure } from './similarity.ts'
import { parseQueryName, type QueryName } from './typed-name.ts'

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
  const typed = own === undefined ? query : parseQueryName(withoutNumber(numbers.rest, own))
  const isNumber = number !== undefined && isOwn(number.digits)
  const known = { ...evidence, hasNumber: true }
  const match = isNumber ? ({ matchType, similarity: 0 } as const) : compareNames(company, typed, { known, registers })
  // The number is known, also if the name leaves doubt.
  const others = [...numbers.others, company.company_number]
  const typedEircodes = typed.around.eircodes
  return buildCandidate(company, { ...evidence, typedEircodes, numbers: { ...numbers, others } }, match)
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
    const name = parseQueryName(labelled.includes(digits) ? rest : withoutNumber(rest, digits))
    const known = { ...evidence, hasNumber: true }
    const match = compareNames(company, name, { known, registers: [register] })
    if (match.isOtherName !== true)
      return buildCandidate(company, { ...evidence, typedEircodes: name.around.eircodes }, match)
  }
  return undefined
}

/** With doubt, the match has the type and the score of a similar name (contract 12.4). */
function compareNames(
  company: Company,
  query: QueryName,
  { known, registers }: { known: KnownEvidence; registers: Registers },
): NameMatch {
  const { whole, named, around } = query
  const ofWhole = compareEqualNames(company, query, { names: whole, registers })
  if (ofWhole.own) return { matchType, similarity: 1, exact: ofWhole.own }
  const ofNamed = compareEqualNames(company, query, { names: named ? [named] : [], registers })
  // The number shows that the text is about the company, also without a legal form.
  const isExplained =
    around.isEmpty || explain(registers[0], company, { ...around, hasForm: true }, known) === 'certain'
  if (ofNamed.own && isExplained) return { matchType, similarity: 1, exact: ofNamed.own }
  // The typed name, or name and text, are the name of another company.
  const withText = named && around.words.length > 0 ? [...named.core, ...around.words] : []
  const isOfOther = ({ names }: Register) =>
    names.findExact(withText).some((position) => names.companyNumber(position) !== company.company_number)
  const isNameOfAnother = ofWhole.isOfOthers || (!ofNamed.own && ofNamed.isOfOthers) || registers.some(isOfOther)
  if (ofNamed.own) return { ...DOUBTFUL, isOtherName: isNameOfAnother }
  if (isExplained && joinedNames(query).some((each) => isEqualWhenJoined(each, company.legal_name)))
    return { matchType, similarity: FUZZY_MAX, isOtherName: isNameOfAnother }
  const compared = compareSimilarName(registers[0], company, query)
  const isOtherName = compared.isOtherName || isNameOfAnother
  const { suffix } = parseName(company.legal_name)
  const isOtherForm = query.similar.suffix !== '' && suffix !== '' && query.similar.suffix !== suffix
  return isExplained && !isOtherForm
    ? { matchType, similarity: compared.similarity, isOtherName }
    : { ...DOUBTFUL, similarity: Math.min(DOUBTFUL.similarity, compared.similarity), isOtherName }
}

function compareEqualNames(
  { legal_name, company_number }: Company,
  query: QueryName,
  { names, registers }: { names: readonly ParsedName[]; registers: Registers },
) {
  const equal = registers.flatMap((each) => {
    const accepts = (position: number) => position !== each.withheld
    return [...findEqualNames(each, query, names, { accepts, budgets: openQueryBudgets() }).values()]
  })
  // The names can differ in a leading "the".
  const found = equal.find((each) => each.company.company_number === company_number)?.exact
  const own = names.length > 0 ? (exactMatchType(query, legal_name, names) ?? found) : undefined
  return { own, isOfOthers: equal.length > 0 }
}

/**
 * The typed name speaks against the record in three cases: it has a word that is not in the record's name (in a text
 * without a legal form, those that the record explains do not count behind a word of the name); it lacks a number of
 * the name; it lacks more than half of the name without being its beginning.
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
  const isBeginning = legal.startsWith(query.normal) && query.normal.length >= named[0]!.length
  if (isBeginning && named.every((word, at) => !isNumeral(word) || word === typed[at]))
    return { similarity, isOtherName: false }
  const last = suffix === '' && core.length > 1 ? (core.at(-1) ?? '') : ''
  const isCut = (word: string) => last.length > 1 && word.startsWith(last) && !isNumeral(word)
  const isNamed = (word: string, at: number) =>
    word === 'the' || isWithin(word, named) || (at === core.length - 1 && named.some(isCut))
  const first = core.findIndex((word, at) => word !== 'the' && isNamed(word, at))
  const explained = suffix === '' ? explainedWords(company, core, isNamed) : core.map(isNamed)
  const isAgainst = core.some((word, at) => (at < first ? !isNamed(word, at) : !explained[at]))
  let lacking = 0
  for (const word of names.words(position)) {
    const text = names.dictionary.text(word)
    if (!isWithin(text, core) && !isCut(text)) lacking += isNumeral(text) ? Infinity : names.weights[word]!
  }
  return { similarity, isOtherName: isAgainst || lacking > names.nameWeights[position]! / 2 }
}

/** Whether a word is like one of the words, or is written together with others there. */
function isWithin(word: string, words: readonly string[]): boolean {
  const isJoined = word.length >= JOINED_LETTERS_MIN && words.join('').includes(word)
  return isJoined || words.some((each) => isLike(word, each))
}

/** One letter in so many can be wrong, but not the first: MIDCO is not BIDCO. */
const LETTERS_PER_EDIT = 5

function isLike(word: string, named: string): boolean {
  if (word === named || equivalentsOf(word).has(named)) return true
  const edits = word[0] === named[0] ? Math.floor(Math.max(word.length, named.length) / LETTERS_PER_EDIT) : 0
  return haveCompatibleNumbers(word, named) && editDistance(toCodeUnits(word), toCodeUnits(named), edits) <= edits
}
