/** The query classes: how each changes a company name, and what the service must do with the result. */
import type { Random } from '../../support/random.ts'
import * as around from './around.ts'
import * as evidence from './evidence.ts'
import { inCore, joined, partsOf, type Change } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'
import * as spelling from './spelling.ts'
import * as typos from './typos.ts'
import * as words from './words.ts'

/** The input of a query. */
export interface QueryInput {
  name: string
  company_number?: string
  eircode?: string
  address?: string
}

export interface QuestionClass {
  id: string
  label: string
  /**
   * Makes a query for a company; undefined, or the name itself, when the class does not apply to it. Classes of
   * unregistered names have none.
   */
  perturb?: (random: Random, company: BenchCompany, register: ReferenceRegister) => QueryInput | string | undefined
  /**
   * Another notation of the same name, which must match when only one company has the name. Other text is not read by
   * the benchmark's own parser.
   */
  sameName?: 'alone' | 'with other text'
  /** The names that the change can make unrecognisable; none by default. */
  unrecognisable?: 'short names' | 'all names'
  /** Every match is wrong. */
  mustNotMatch?: true
  /** The companies that a query for a part of a name cannot distinguish; by default those with the same name. */
  accepted?: (register: ReferenceRegister, query: string) => readonly BenchCompany[]
}

const byName =
  (change: Change) =>
  (random: Random, { name }: BenchCompany) =>
    change(random, name)

const inForm = (change: Change) =>
  byName((random, name) => {
    const { core, surface } = partsOf(name)
    const changed = change(random, surface)
    return changed === undefined ? undefined : joined({ core, surface: changed })
  })

const SAME = { sameName: 'alone' } as const
const SAME_IN_TEXT = { sameName: 'with other text' } as const
const SHORT = { unrecognisable: 'short names' } as const
const ALL = { unrecognisable: 'all names' } as const
const NO_MATCH = { mustNotMatch: true } as const

/** Text behind the legal form that makes another company, with and without the evidence of this one. */
const behindForm = (id: string, label: string, perturb: around.Behind): QuestionClass[] => [
  { id, label: `${label} behind the form`, perturb, ...NO_MATCH },
  {
    id: `${id}b`,
    label: `${label} behind the form, with Eircode`,
    perturb: around.withEvidenceOf(perturb),
    ...NO_MATCH,
  },
]

/** Class 15, former names, is missing, because the dataset has none. */
export const CLASSES: readonly QuestionClass[] = [
  { id: '0', label: 'as registered', perturb: (_random, { name }) => ({ name }) },
  { id: '1', label: 'one typo', perturb: byName(inCore(typos.withTypo)), ...SHORT },
  { id: '1b', label: 'one typo in the legal form', perturb: inForm(typos.withTypo) },
  { id: '2', label: 'two typos', perturb: byName(inCore(typos.withTwoTypos)), ...SHORT },
  { id: '3', label: 'another form of the same legal suffix', perturb: byName(words.formSwapped), ...SAME },
  { id: '3b', label: 'a different legal form', perturb: byName(words.formWrong), ...NO_MATCH },
  { id: '4', label: 'legal form omitted', perturb: byName(words.formDropped), ...SAME },
  { id: '5', label: 'two words swapped', perturb: byName(words.wordsSwapped) },
  { id: '6', label: 'a word abbreviated', perturb: byName(words.abbreviated) },
  { id: '7', label: '&, +, and, agus', perturb: byName(spelling.andRewritten), ...SAME },
  { id: '8', label: 'accents and dots', perturb: byName(spelling.fadasChanged), ...SAME },
  { id: '9', label: 'a word omitted', perturb: byName(words.wordMissing), ...ALL },
  { id: '10', label: 'a word added', perturb: byName(words.wordAdded) },
  { id: '11', label: 'initials', perturb: byName(spelling.initialsRewritten), ...SAME },
  { id: '12', label: 'words joined or split', perturb: byName(words.wordsJoinedOrSplit) },
  { id: '13', label: 'another notation of a number', perturb: byName(words.numbersRewritten) },
  {
    id: '13b',
    label: 'a different number, with Eircode and address',
    perturb: evidence.otherNumberWithEvidence,
    ...NO_MATCH,
    ...ALL,
  },
  { id: '14', label: 'punctuation', perturb: byName(spelling.punctuationChanged), ...SAME },
  { id: '17', label: 'with a wrong Eircode', perturb: evidence.withWrongEircode, ...NO_MATCH },
  {
    id: '18',
    label: 'with the Eircode',
    perturb: (_random, { name, eircode }) => (eircode === null ? undefined : { name, eircode }),
  },
  { id: '18b', label: 'one typo, with Eircode and address', perturb: evidence.typoWithEvidence, ...SHORT },
  { id: '19', label: 'with a part of the address', perturb: evidence.withAddressFragment },
  { id: '20', label: 'a trading name after the name', perturb: byName(around.withTradingName), ...SAME_IN_TEXT },
  { id: '21', label: 'its address after the name', perturb: around.withOwnAddress, ...SAME_IN_TEXT },
  { id: '21b', label: 'its number after the name, or alone', perturb: around.withOwnNumber, ...SAME_IN_TEXT },
  { id: '21c', label: 'text that its Eircode explains', perturb: around.withTextOfEircode, ...SAME_IN_TEXT },
  { id: '22', label: '& or and omitted', perturb: byName(around.andDropped) },
  { id: '23', label: 'a company number after the name', perturb: around.withCompanyNumber, ...SAME_IN_TEXT },
  { id: '25', label: 'The added or omitted', perturb: byName(words.articleChanged), ...SAME_IN_TEXT },
  { id: '26', label: 'after a trading name', perturb: byName(around.afterTradingName) },
  { id: '28', label: 'a digit for a letter', perturb: byName(inCore(typos.withDigit)), ...SHORT },
  ...behindForm('35', 'a number, letter or year', around.withNumber),
  ...behindForm('36', 'a word of a group or fund', around.withKind),
  ...behindForm('37', 'another country', around.withCountry),
  ...behindForm('38', 'another company number', around.withOtherNumber),
  ...behindForm('39', 'a word that another name has', around.withWordsOfLongerName),
  ...behindForm('42', 'text that nothing explains', around.withOtherText),
  ...behindForm('43', 'identities of other countries', around.withForeignText),
  ...behindForm('44', 'its number in another register', around.withNumberOfOtherRegister),
  { id: '45', label: 'only its town or county behind the form', perturb: around.withOwnTown, ...NO_MATCH },
  { id: '46', label: 'behind c/o, or with an agent alone', perturb: around.behindCareOf, ...NO_MATCH, ...ALL },
  { id: '47', label: 'its number, with another legal form', perturb: around.withNumberAndOtherForm, ...NO_MATCH },
  { id: '40', label: 'a note that explains itself behind the form', perturb: around.withNote, ...SAME_IN_TEXT },
  {
    id: '40b',
    label: 'country, department, courtesy behind the form',
    perturb: around.withListedWords,
    ...SAME_IN_TEXT,
  },
  { id: '41', label: 'the form cut or repeated', perturb: around.formCutOrRepeated, ...SAME_IN_TEXT },
  {
    id: 's1',
    label: 'only the rarest word',
    perturb: words.brandOnly,
    accepted: (register, query) => register.find('word', query),
    ...ALL,
  },
  {
    id: 's2',
    label: 'the last word cut short',
    perturb: words.lastWordCut,
    accepted: (register, query) => register.beginningWith(query),
    ...ALL,
  },
  {
    id: 's4',
    label: 'three or more words without spaces',
    perturb: words.withoutSpaces,
    accepted: (register, query) => register.find('lettersOnly', query),
    ...ALL,
  },
]

const UNREGISTERED = { ...NO_MATCH, ...ALL }

/** Classes of unregistered names, and of registered names that contradict the query. */
export const NEGATIVES = {
  recombined: { id: 'n1', label: 'not registered, recombined words', ...UNREGISTERED },
  invented: { id: 'n2', label: 'not registered, invented words', ...UNREGISTERED },
  tradingName: { id: 'n6', label: 'not registered, T/A a registered name', ...UNREGISTERED },
  otherNumber: { id: 'n8', label: 'the number of a company with a similar name', ...UNREGISTERED },
} satisfies Record<string, QuestionClass>
