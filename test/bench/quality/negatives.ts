/** Unregistered names, made of registered or invented words. */
import { below, pick, type Random } from '../../support/random.ts'
import { partsOf } from './names.ts'
import type { ReferenceRegister } from './register.ts'

const ONSETS = 'b br c cl d dr f g gl k l m n p qu s st t tr v z'.split(' ')
const VOWELS = 'a e i o u ea io ou'.split(' ')
const ENDS = ['', 'l', 'n', 'r', 's', 'x', 'nd', 'rk', 'th']
const TRADES = ['SERVICES', 'CONSULTING', 'FOODS', 'ENGINEERING', 'HOLDINGS', 'MEDIA'] as const

/** The first half of one company name and the second half of another. */
export function recombined(random: Random, { companies }: ReferenceRegister): string {
  const [beginning, end] = [pick(random, companies), pick(random, companies)].map(({ name }) =>
    partsOf(name).core.split(' '),
  ) as [string[], string[]]
  const kept = beginning.slice(0, Math.max(1, Math.ceil(beginning.length / 2)))
  const added = end.slice(-Math.max(1, Math.floor(end.length / 2)))
  return [...kept, ...added, 'LIMITED'].join(' ')
}

export function invented(random: Random): string {
  const words = Array.from({ length: 1 + below(random, 2) }, () => inventedWord(random))
  return [...words, pick(random, TRADES), 'LIMITED'].join(' ')
}

function inventedWord(random: Random): string {
  const syllables = Array.from({ length: 2 + below(random, 2) }, () =>
    [ONSETS, VOWELS, ENDS].map((part) => pick(random, part)).join(''),
  )
  return syllables.join('').toUpperCase()
}
