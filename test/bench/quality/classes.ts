/** The ways in which a company is asked for, one line each: what is done to its name, and what may be expected then. */
import type { Random } from '../../../agent/sandbox/sample-random.ts'
import {
  otherNumberWithEvidence,
  typoWithEvidence,
  withAddressFragment,
  withRightEircode,
  withWrongEircode,
  type Asked,
} from './evidence.ts'
import { formDropped, formSwapped, formWrong } from './legal-forms.ts'
import { joined, partsOf } from './names.ts'
import type { Listed } from './register.ts'
import { andRewritten, fadasChanged, initialsRewritten, punctuationChanged, spelledBySound } from './spelling.ts'
import { withTwoTypos, withTypo } from './typos.ts'
import { abbreviated, numbersRewritten, wordAdded, wordMissing, wordsJoinedOrSplit, wordsSwapped } from './words.ts'

/** Asks for a company in one way; undefined where that way does not apply to it. */
export type Perturbation = (random: Random, company: Listed) => Asked | undefined

export interface QuestionClass {
  id: string
  label: string
  /** Undefined for names that are on no register. */
  perturb?: Perturbation
  /** The same name in other signs: where it names one company only, that one must be matched. */
  isSameName?: true
  /** Whether enough is left to find the company by. */
  recoverable: 'always' | 'long names' | 'never'
  /** A match is a wrong answer here, whoever is matched. */
  mustNotMatch?: true
}

const byName =
  (change: (random: Random, name: string) => string | undefined): Perturbation =>
  (random, { name }) =>
    asNamed(name, change(random, name))

/** Over the name without its legal form. */
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

function asNamed(name: string, changed: string | undefined): Asked | undefined {
  return changed === undefined || changed === name ? undefined : { name: changed }
}

/** Former names (15) are not among them: the dataset has none, so there is nothing to ask and nothing to find. */
export const CLASSES: readonly QuestionClass[] = [
  { id: '0', label: 'as registered', perturb: (_random, { name }) => ({ name }), recoverable: 'always' },
  { id: '1', label: 'one typo', perturb: inCore(withTypo), recoverable: 'long names' },
  { id: '1b', label: 'one typo in the legal form', perturb: typoInForm, recoverable: 'always' },
  { id: '2', label: 'two typos', perturb: inCore(withTwoTypos), recoverable: 'long names' },
  {
    id: '3',
    label: 'legal form written otherwise',
    perturb: byName(formSwapped),
    isSameName: true,
    recoverable: 'always',
  },
  { id: '3b', label: 'another legal form', perturb: byName(formWrong), mustNotMatch: true, recoverable: 'always' },
  { id: '4', label: 'legal form left out', perturb: byName(formDropped), isSameName: true, recoverable: 'always' },
  { id: '5', label: 'two words swapped', perturb: byName(wordsSwapped), recoverable: 'always' },
  { id: '6', label: 'a word abbreviated', perturb: byName(abbreviated), recoverable: 'always' },
  { id: '7', label: '&, +, and, agus', perturb: byName(andRewritten), isSameName: true, recoverable: 'always' },
  { id: '8', label: 'fadas and dots', perturb: byName(fadasChanged), isSameName: true, recoverable: 'always' },
  { id: '9', label: 'a word missing', perturb: byName(wordMissing), recoverable: 'never' },
  { id: '10', label: 'a word added', perturb: byName(wordAdded), recoverable: 'always' },
  { id: '11', label: 'initials', perturb: byName(initialsRewritten), isSameName: true, recoverable: 'always' },
  { id: '12', label: 'words joined or split', perturb: byName(wordsJoinedOrSplit), recoverable: 'always' },
  { id: '13', label: 'numbers', perturb: byName(numbersRewritten), recoverable: 'always' },
  {
    id: '13b',
    label: 'another number, its Eircode and address',
    perturb: otherNumberWithEvidence,
    mustNotMatch: true,
    recoverable: 'never',
  },
  { id: '14', label: 'punctuation', perturb: byName(punctuationChanged), isSameName: true, recoverable: 'always' },
  { id: '16', label: 'spelled by sound', perturb: byName(spelledBySound), recoverable: 'long names' },
  { id: '17', label: 'with a wrong Eircode', perturb: withWrongEircode, mustNotMatch: true, recoverable: 'always' },
  { id: '18', label: 'with its Eircode', perturb: withRightEircode, recoverable: 'always' },
  { id: '18b', label: 'one typo, its Eircode and address', perturb: typoWithEvidence, recoverable: 'long names' },
  { id: '19', label: 'with a part of its address', perturb: withAddressFragment, recoverable: 'always' },
]

export const LEFT_OUT = '15, former names: the dataset has no former names, so none can be asked for or found.'

const NOBODY = { mustNotMatch: true, recoverable: 'never' } as const

/** Names that are not on the register. */
export const NEGATIVES = {
  recombined: { id: 'n1', label: "not registered: the register's words", ...NOBODY },
  invented: { id: 'n2', label: 'not registered: invented words', ...NOBODY },
  removed: { id: 'n3', label: 'removed from the register', ...NOBODY },
  removedWithEircode: { id: 'n4', label: 'removed, with its Eircode', ...NOBODY },
  removedMistyped: { id: 'n5', label: 'removed, one typo, its Eircode and address', ...NOBODY },
} satisfies Record<string, QuestionClass>
