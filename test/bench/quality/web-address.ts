/** A name as it is written in a web or e-mail address. */
import { pick, type Random } from '../../../agent/sandbox/sample-random.ts'
import { fold, partsOf } from './names.ts'

const LABEL_LETTERS_MIN = 4

/** The letters of a web address: its domain without the last part. */
export const LABEL = /([a-z0-9-]+)\.ie/u

const WRITTEN: readonly ((label: string) => string)[] = [
  (label) => `${label}.ie`,
  (label) => `${label.toUpperCase()}.IE`,
  (label) => `www.${label}.ie`,
  (label) => `https://www.${label}.ie/contact`,
  (label) => `info@${label}.ie`,
  (label) => `${label}.ie Ltd`,
]

export function asWebAddress(random: Random, name: string): string | undefined {
  const words = fold(partsOf(name).core).split(' ')
  if (words.join('').length < LABEL_LETTERS_MIN || !/^[a-z0-9 ]+$/.test(words.join(' '))) return undefined
  return pick(random, WRITTEN)(words.join(pick(random, ['', '', '-'])))
}
