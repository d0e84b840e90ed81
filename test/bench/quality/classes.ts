/** The query classes: how each changes a company name, and what the service must do with the result. */
import type { Random } from '../../../agent/sandbox/sample-random.ts'
import { afterTradingName, andDropped, withCompanyNumber, withTextAfterForm, withTradingName } from './around.ts'
import {
  otherNumberWithEvidence,
  shortTypoWithEvidence,
  typoWithEvidence,
  withAddressFragment,
  withEircodeAfter,
  withRightEircode,
  withWrongEircode,
  type QueryInput,
} from './evidence.ts'
import { formDropped, formSwapped, formWrong } from './legal-forms.ts'
import { fold, joined, partsOf } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'
import {
  brandOnly,
  firstWordAndTwoLetters,
  initialsOnly,
  lastWordCut,
  prefixAlone,
  withoutSpaces,
} from './search-classes.ts'
import {
  andRewritten,
  fadasChanged,
  fadasLost,
  fadasMisreadTwice,
  initialsRewritten,
  punctuationChanged,
  spelledBySound,
  withInvisible,
} from './spelling.ts'
import { misreadByOcr, withDigit, withTwoTypos, withTypo } from './typos.ts'
import { asWebAddress, LABEL } from './web-address.ts'
import {
  abbreviated,
  articleChanged,
  initialOrNumberJoined,
  numbersRewritten,
  ordinalsRewritten,
  wordAdded,
  wordMissing,
  wordsJoinedOrSplit,
  wordsSwapped,
} from './words.ts'

/** Makes the query of one class for a company; undefined when the class does not apply to it. */
type Perturbation = (random: Random, company: BenchCompany, register: ReferenceRegister) => QueryInput | undefined

export interface QuestionClass {
  id: string
  label: string
  /** Undefined for unregistered names. */
  perturb?: Perturbation
  /** Another notation of the same name: it must match when only one company has the name. */
  isSameName?: true
  /** Whether the query has text that the benchmark's own parser does not read. The name without it must be unique. */
  hasOtherText?: true
  /** Whether the changed name still identifies the company. */
  recoverable: 'always' | 'long names' | 'never'
  /** Every match is wrong. */
  mustNotMatch?: true
  /** The companies that a query for a part of a name cannot distinguish; by default those with the same name. */
  accepted?: (register: ReferenceRegister, query: string) => readonly string[]
}

const byName =
  (change: (random: Random, name: string) => string | undefined): Perturbation =>
  (random, { name }) =>
    toQuery(name, change(random, name))

/** Changes the name and keeps its legal form. */
const inCore = (change: (random: Random, core: string) => string | undefined) =>
  byName((random, name) => {
    const { core, surface } = partsOf(name)
    const changed = change(random, core)
    return changed === undefined ? undefined : joined({ core: changed, surface })
  })

const typoInForm = byName((random, name) => {
  const { core, surface } = partsOf(name)
  const changed = withTypo(random, surface)
  return changed === undefined ? undefined : joined({ core, surface: changed })
})

function toQuery(name: string, changed: string | undefined): QueryInput | undefined {
  return changed === undefined || changed === name ? undefined : { name: changed }
}

const partOf =
  (change: (random: Random, company: BenchCompany, register: ReferenceRegister) => string | undefined): Perturbation =>
  (random, company, register) =>
    toQuery(company.name, change(random, company, register))

/** Class 15, former names, is missing, because the dataset has none. */
export const CLASSES: readonly QuestionClass[] = [
  { id: '0', label: 'as registered', perturb: (_random, { name }) => ({ name }), recoverable: 'always' },
  { id: '1', label: 'one typo', perturb: inCore(withTypo), recoverable: 'long names' },
  { id: '1b', label: 'one typo in the legal form', perturb: typoInForm, recoverable: 'always' },
  { id: '2', label: 'two typos', perturb: inCore(withTwoTypos), recoverable: 'long names' },
  {
    id: '3',
    label: 'another form of the same legal suffix',
    perturb: byName(formSwapped),
    isSameName: true,
    recoverable: 'always',
  },
  { id: '3b', label: 'a different legal form', perturb: byName(formWrong), mustNotMatch: true, recoverable: 'always' },
  { id: '4', label: 'legal form omitted', perturb: byName(formDropped), isSameName: true, recoverable: 'always' },
  { id: '5', label: 'two words swapped', perturb: byName(wordsSwapped), recoverable: 'always' },
  { id: '6', label: 'a word abbreviated', perturb: byName(abbreviated), recoverable: 'always' },
  { id: '7', label: '&, +, and, agus', perturb: byName(andRewritten), isSameName: true, recoverable: 'always' },
  { id: '8', label: 'accents and dots', perturb: byName(fadasChanged), isSameName: true, recoverable: 'always' },
  { id: '9', label: 'a word omitted', perturb: byName(wordMissing), recoverable: 'never' },
  { id: '10', label: 'a word added', perturb: byName(wordAdded), recoverable: 'always' },
  { id: '11', label: 'initials', perturb: byName(initialsRewritten), isSameName: true, recoverable: 'always' },
  { id: '12', label: 'words joined or split', perturb: byName(wordsJoinedOrSplit), recoverable: 'always' },
  { id: '13', label: 'another notation of a number', perturb: byName(numbersRewritten), recoverable: 'always' },
  {
    id: '13b',
    label: 'a different number, with Eircode and address',
    perturb: otherNumberWithEvidence,
    mustNotMatch: true,
    recoverable: 'never',
  },
  { id: '14', label: 'punctuation', perturb: byName(punctuationChanged), isSameName: true, recoverable: 'always' },
  { id: '16', label: 'phonetic spelling', perturb: byName(spelledBySound), recoverable: 'long names' },
  { id: '17', label: 'with a wrong Eircode', perturb: withWrongEircode, mustNotMatch: true, recoverable: 'always' },
  { id: '18', label: 'with the Eircode', perturb: withRightEircode, recoverable: 'always' },
  { id: '18b', label: 'one typo, with Eircode and address', perturb: typoWithEvidence, recoverable: 'long names' },
  { id: '19', label: 'with a part of the address', perturb: withAddressFragment, recoverable: 'always' },
  {
    id: '20',
    label: 'a trading name after the name',
    perturb: byName(withTradingName),
    hasOtherText: true,
    isSameName: true,
    recoverable: 'always',
  },
  {
    id: '21',
    label: 'a place or number after the name',
    perturb: (random, company) => toQuery(company.name, withTextAfterForm(random, company)),
    hasOtherText: true,
    isSameName: true,
    recoverable: 'always',
  },
  {
    id: '22',
    label: '& or and omitted',
    perturb: byName(andDropped),
    recoverable: 'always',
  },
  {
    id: '22b',
    label: '& or and omitted, or words joined or split, with the Eircode',
    perturb: withEircodeAfter((random, name) => andDropped(random, name) ?? wordsJoinedOrSplit(random, name)),
    recoverable: 'always',
  },
  {
    id: '23',
    label: 'a company number after the name',
    perturb: (random, company) => toQuery(company.name, withCompanyNumber(random, company)),
    hasOtherText: true,
    isSameName: true,
    recoverable: 'always',
  },
  {
    id: '24',
    label: 'an invisible character',
    perturb: byName(withInvisible),
    hasOtherText: true,
    isSameName: true,
    recoverable: 'always',
  },
  {
    id: '25',
    label: 'The added or omitted',
    perturb: byName(articleChanged),
    hasOtherText: true,
    isSameName: true,
    recoverable: 'always',
  },
  { id: '26', label: 'after a trading name', perturb: byName(afterTradingName), recoverable: 'always' },
  {
    id: '27',
    label: 'a web or e-mail address',
    perturb: byName(asWebAddress),
    accepted: (register, query) => register.withLetters(letters(LABEL.exec(query.toLowerCase())?.[1] ?? '')),
    recoverable: 'always',
  },
  { id: '28', label: 'a digit for a letter', perturb: inCore(withDigit), recoverable: 'long names' },
  { id: '29', label: 'three errors of character recognition', perturb: inCore(misreadByOcr), recoverable: 'never' },
  { id: '30', label: 'accents as question marks', perturb: byName(fadasLost), recoverable: 'long names' },
  { id: '31', label: 'accents misread twice', perturb: byName(fadasMisreadTwice), recoverable: 'long names' },
  { id: '32', label: '1st, first', perturb: byName(ordinalsRewritten), recoverable: 'always' },
  {
    id: '33',
    label: 'an initial or number joined or split, with the Eircode',
    perturb: withEircodeAfter(initialOrNumberJoined),
    recoverable: 'always',
  },
  {
    id: '34',
    label: 'one typo in a short word or one with a digit, with Eircode and address',
    perturb: shortTypoWithEvidence,
    recoverable: 'never',
  },
  {
    id: 's1',
    label: 'only the rarest word',
    perturb: partOf(brandOnly),
    accepted: (register, query) => register.withWord(query),
    recoverable: 'never',
  },
  {
    id: 's2',
    label: 'the last word cut short',
    perturb: partOf(lastWordCut),
    accepted: (register, query) => register.beginningWith(query),
    recoverable: 'never',
  },
  {
    id: 's3',
    label: 'only five letters of a word',
    perturb: partOf(prefixAlone),
    accepted: (register, query) => register.withFiveLetters(query),
    recoverable: 'never',
  },
  {
    id: 's4',
    label: 'three or more words without spaces',
    perturb: partOf(withoutSpaces),
    accepted: (register, query) => register.withLetters(query),
    recoverable: 'never',
  },
  {
    id: 's5',
    label: 'only the initials',
    perturb: partOf(initialsOnly),
    accepted: (register, query) => [...register.withInitials(query), ...register.withWord(query)],
    recoverable: 'never',
  },
  {
    id: 's6',
    label: 'the first word and two letters',
    perturb: partOf(firstWordAndTwoLetters),
    accepted: (register, query) => register.beginningWith(query),
    recoverable: 'never',
  },
]

const letters = (text: string) => fold(text).replaceAll(' ', '')

export const OMITTED_CLASS = '15, former names, because the dataset has none.'

const UNREGISTERED = { mustNotMatch: true, recoverable: 'never' } as const

/** Classes of unregistered names, and of registered names that contradict the query. */
export const NEGATIVES = {
  recombined: { id: 'n1', label: 'not registered, recombined words', ...UNREGISTERED },
  invented: { id: 'n2', label: 'not registered, invented words', ...UNREGISTERED },
  tradingName: { id: 'n6', label: 'not registered, T/A a registered name', ...UNREGISTERED },
  listed: { id: 'n7', label: 'a given list, not registered', ...UNREGISTERED },
  otherNumber: { id: 'n8', label: 'the number of a company with a similar name', ...UNREGISTERED },
} satisfies Record<string, QuestionClass>
