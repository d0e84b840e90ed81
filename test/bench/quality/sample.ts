/** Draws the companies that are asked about: so many of each kind, for the rare kinds are where a search goes wrong. */
import { randomFor } from '../../../agent/sandbox/sample-random.ts'
import { fold, partsOf } from './names.ts'
import type { Listed, Register } from './register.ts'

/** Shares of the sample. What the register has too few of goes to the last. */
const STRATA = [
  ['same name as another', 0.05],
  ['one letter from another', 0.1],
  ['with a number', 0.1],
  ['Irish', 0.1],
  ['one word', 0.15],
  ['neither live nor dissolved', 0.05],
  ['dissolved', 0.2],
  ['live', 0.25],
] as const

type Stratum = (typeof STRATA)[number][0]

export interface Sampled {
  company: Listed
  stratum: Stratum
}

const ORDER_STREAM = 101
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'
/** Companies whose neighbours are looked for, over those wanted: one in twenty of a small register has one. */
const NEIGHBOUR_SEARCHES_RATIO = 40

/** The same register, size and seed give the same sample. A company belongs to the first stratum that it fits. */
export function drawSample(register: Register, { size, seed }: { size: number; seed: number }): Sampled[] {
  const wanted = new Map<Stratum, number>(STRATA.map(([stratum, share]) => [stratum, Math.round(size * share)]))
  const drawn: Sampled[] = []
  const rest: Sampled[] = []
  let searches = size * NEIGHBOUR_SEARCHES_RATIO
  for (const company of shuffled(register.companies, seed)) {
    const looksForNeighbours = (wanted.get('one letter from another') ?? 0) > 0 && searches-- > 0
    const stratum = stratumOf(company, { register, looksForNeighbours })
    const left = wanted.get(stratum) ?? 0
    if (left > 0) drawn.push({ company, stratum })
    else if (rest.length < size) rest.push({ company, stratum })
    wanted.set(stratum, left - 1)
    if (drawn.length >= size) break
  }
  return [...drawn, ...rest.slice(0, Math.max(0, size - drawn.length))]
}

/** In the order of numbers that the seed gives each company, whatever else is in the register. */
export function shuffled<Value>(values: readonly Value[], seed: number): Value[] {
  const keyed = values.map((value, index) => ({ value, key: randomFor(seed, index, ORDER_STREAM)() }))
  return keyed.toSorted((one, other) => one.key - other.key).map(({ value }) => value)
}

function stratumOf(company: Listed, among: { register: Register; looksForNeighbours: boolean }): Stratum {
  const { core, surface } = partsOf(company.name)
  if (among.register.sameName(company.name).length > 1) return 'same name as another'
  if (among.looksForNeighbours && hasNeighbour(fold(core), among.register)) return 'one letter from another'
  if (/\p{N}/u.test(core)) return 'with a number'
  if (/[áéíóúÁÉÍÓÚ]/u.test(company.name) || /TEO/iu.test(surface)) return 'Irish'
  if (!core.includes(' ')) return 'one word'
  return company.condition === 'other' ? 'neither live nor dissolved' : company.condition
}

/** Whether another name is one letter away: left out, put in or exchanged. */
function hasNeighbour(core: string, register: Register): boolean {
  for (let at = 0; at <= core.length; at += 1) {
    const before = core.slice(0, at)
    const after = core.slice(at)
    if (after !== '' && register.hasCore(before + after.slice(1))) return true
    for (const letter of LETTERS) {
      if (register.hasCore(before + letter + after)) return true
      if (after !== '' && letter !== after[0] && register.hasCore(before + letter + after.slice(1))) return true
    }
  }
  return false
}
