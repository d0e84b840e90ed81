/** Draws a stratified sample of companies. Rare kinds are over-represented, because they are the difficult ones. */
import { randomFor } from '../../support/random.ts'
import { coreWords, partsOf } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'

type Belongs = (company: BenchCompany, register: ReferenceRegister) => boolean

/** Shares of the sample. Any companies fill up what is left. */
const STRATA: readonly (readonly [share: number, belongs: Belongs])[] = [
  [0.05, ({ name }, register) => register.sameName(name).length > 1],
  [0.1, ({ name }, register) => findNeighbour(name, register) !== undefined],
  [0.05, ({ name }, register) => register.addedWords(name).length > 0],
  [0.1, ({ name }) => /\p{N}/u.test(partsOf(name).core)],
  [0.1, ({ name }) => /[áéíóúÁÉÍÓÚ]/u.test(name) || /TEO/iu.test(partsOf(name).surface)],
  [0.15, ({ name }) => coreWords(name).length === 1],
  [0.05, ({ status }) => status !== 'Normal' && !status.startsWith('Dissolved')],
  [0.2, ({ status }) => status.startsWith('Dissolved')],
]

const ORDER_STREAM = 101
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** The same register, size and seed give the same sample. */
export function drawSample(
  register: ReferenceRegister,
  { size, seed }: { size: number; seed: number },
): BenchCompany[] {
  const companies = shuffled(register.companies, seed)
  const drawn = new Set<BenchCompany>()
  const draw = (end: number, belongs: Belongs) => {
    for (const company of companies) {
      if (drawn.size >= end) return
      if (!drawn.has(company) && belongs(company, register)) drawn.add(company)
    }
  }
  for (const [share, belongs] of STRATA) draw(drawn.size + Math.round(size * share), belongs)
  draw(size, () => true)
  return [...drawn]
}

/** A deterministic shuffle. */
export function shuffled<Value>(values: readonly Value[], seed: number): Value[] {
  const keyed = values.map((value, index) => ({ value, key: randomFor(seed, index, ORDER_STREAM)() }))
  return keyed.toSorted((one, other) => one.key - other.key).map(({ value }) => value)
}

/** The number of a company whose name before the legal form differs by one deletion, insertion or substitution. */
export function findNeighbour(name: string, register: ReferenceRegister): string | undefined {
  for (const changed of oneEditFrom(coreWords(name).join(' '))) {
    const [neighbour] = register.find('core', changed)
    if (neighbour) return neighbour.number
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
