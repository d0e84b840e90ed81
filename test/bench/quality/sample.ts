/** Draws a stratified sample of companies. Rare kinds are over-represented, because they are the difficult ones. */
import { randomFor } from '../../../agent/sandbox/sample-random.ts'
import { fold, partsOf } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'

/** Shares of the sample. Other companies fill up strata with too few. */
const STRATA = [
  ['same name as another', 0.05],
  ['one letter from another', 0.1],
  ['with a number', 0.1],
  ['Irish language', 0.1],
  ['one word', 0.15],
  ['neither live nor dissolved', 0.05],
  ['dissolved', 0.2],
  ['live', 0.25],
] as const

type Stratum = (typeof STRATA)[number][0]

export interface Sampled {
  company: BenchCompany
  stratum: Stratum
}

const ORDER_STREAM = 101
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'
/** Searches for similar names per sampled company. In a small register, one company in twenty has a similar name. */
const NEIGHBOUR_SEARCHES_RATIO = 40

/** Deterministic for the same register, size and seed. A company belongs to the first stratum that fits. */
export function drawSample(register: ReferenceRegister, { size, seed }: { size: number; seed: number }): Sampled[] {
  const wanted = new Map<Stratum, number>(STRATA.map(([stratum, share]) => [stratum, Math.round(size * share)]))
  const drawn: Sampled[] = []
  const rest: Sampled[] = []
  let searches = size * NEIGHBOUR_SEARCHES_RATIO
  for (const company of shuffled(register.companies, seed)) {
    const searchesNeighbours = (wanted.get('one letter from another') ?? 0) > 0 && searches-- > 0
    const stratum = findStratum(company, { register, searchesNeighbours })
    const left = wanted.get(stratum) ?? 0
    if (left > 0) drawn.push({ company, stratum })
    else if (rest.length < size) rest.push({ company, stratum })
    wanted.set(stratum, left - 1)
    if (drawn.length >= size) break
  }
  return [...drawn, ...rest.slice(0, Math.max(0, size - drawn.length))]
}

/** All companies, in the order of a shuffle. */
export function drawAll({ companies }: ReferenceRegister, seed: number): Sampled[] {
  return shuffled(companies, seed).map((company) => ({
    company,
    stratum: company.condition === 'other' ? 'neither live nor dissolved' : company.condition,
  }))
}

/** A deterministic shuffle. */
export function shuffled<Value>(values: readonly Value[], seed: number): Value[] {
  const keyed = values.map((value, index) => ({ value, key: randomFor(seed, index, ORDER_STREAM)() }))
  return keyed.toSorted((one, other) => one.key - other.key).map(({ value }) => value)
}

function findStratum(
  company: BenchCompany,
  among: { register: ReferenceRegister; searchesNeighbours: boolean },
): Stratum {
  const { core, surface } = partsOf(company.name)
  if (among.register.sameName(company.name).length > 1) return 'same name as another'
  if (among.searchesNeighbours && findNeighbour(fold(core), among.register) !== undefined)
    return 'one letter from another'
  if (/\p{N}/u.test(core)) return 'with a number'
  if (/[áéíóúÁÉÍÓÚ]/u.test(company.name) || /TEO/iu.test(surface)) return 'Irish language'
  if (!core.includes(' ')) return 'one word'
  return company.condition === 'other' ? 'neither live nor dissolved' : company.condition
}

/** A company whose name before the legal form differs by one deletion, insertion or substitution. */
export function findNeighbour(core: string, register: ReferenceRegister): string | undefined {
  for (const changed of oneEditFrom(core)) {
    const [number] = register.withCore(changed)
    if (number !== undefined) return number
  }
  return undefined
}

function* oneEditFrom(core: string): Generator<string> {
  for (let at = 0; at <= core.length; at += 1) {
    const before = core.slice(0, at)
    const after = core.slice(at)
    if (after !== '') yield before + after.slice(1)
    for (const letter of LETTERS) {
      yield before + letter + after
      if (after !== '' && letter !== after[0]) yield before + letter + after.slice(1)
    }
  }
}
