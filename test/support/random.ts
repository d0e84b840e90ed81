/** Pseudo-random numbers that are the same on every machine, with independent streams. */

/** The next number of a stream, from 0 up to but not including 1. */
export type Random = () => number

/** The finaliser of MurmurHash3, which maps neighbouring integers to unrelated ones. */
function scramble(value: number): number {
  let hash = value | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

/**
 * Creates a stream (mulberry32, integer arithmetic only). The factor gives neighbouring streams distant start states.
 */
export function randomFor(seed: number, index: number, stream: number): Random {
  let state = scramble(scramble(scramble(seed) ^ index) + Math.imul(stream, 0x9e3779b9))
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns a whole number from 0 to `count - 1`. */
export function below(random: Random, count: number): number {
  return Math.floor(random() * count)
}

/** Returns true with the given probability. */
export function happens(random: Random, rate: number): boolean {
  return random() < rate
}

export function pick<Value>(random: Random, values: readonly Value[]): Value {
  const value = values[below(random, values.length)]
  if (value === undefined) throw new Error('The list is empty')
  return value
}

/** Parses a table such as `LIMITED 3, PLC 1` and returns a function that draws LIMITED three times as often as PLC. */
export function weighted(table: string): (random: Random) => string {
  let total = 0
  const entries = table.split(/,\s+/).map((entry) => {
    const [, value = '', weight] = /^(.*) (\S+)$/.exec(entry.trim()) ?? []
    total += Number(weight)
    return { value, end: total }
  })
  return (random) => {
    const drawn = random() * total
    return entries.find(({ end }) => drawn < end)?.value ?? ''
  }
}
