/** Numbers that look random and are the same on every machine: a stream for every row and group of columns. */

/** The next number of a stream, from 0 up to but not including 1. */
export type Random = () => number

/** Values with how often each is drawn, in any unit. */
export type Weighted<Value> = readonly (readonly [value: Value, weight: number])[]

const UINT32_VALUES = 2 ** 32
/** The golden ratio's bits: neighbouring streams begin far apart. */
const STREAM_STEP = 0x9e3779b9

/** MurmurHash3's finaliser: neighbouring integers become unrelated ones. */
function scramble(value: number): number {
  let hash = value | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

/** mulberry32: integer arithmetic alone, so that no processor or engine can differ in a bit. */
function mulberry32(start: number): Random {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / UINT32_VALUES
  }
}

/**
 * The stream of one row and one group of columns. A row depends on no row before it, so any row can be made again
 * without keeping the others, and a new draw in one column leaves the other columns as they were.
 */
export function randomFor(seed: number, index: number, stream: number): Random {
  return mulberry32(scramble(scramble(scramble(seed) ^ index) + Math.imul(stream, STREAM_STEP)))
}

/** A whole number from 0 to `count - 1`. */
export function below(random: Random, count: number): number {
  return Math.floor(random() * count)
}

/** True at the given rate, from 0 (never) to 1 (always). */
export function happens(random: Random, rate: number): boolean {
  return random() < rate
}

export function pick<Value>(random: Random, values: readonly Value[]): Value {
  const value = values[below(random, values.length)]
  if (value === undefined) throw new Error('There is nothing to pick from')
  return value
}

export function pickWeighted<Value>(random: Random, table: Weighted<Value>): Value {
  const total = table.reduce((sum, [, weight]) => sum + weight, 0)
  let rest = random() * total
  for (const [value, weight] of table) {
    rest -= weight
    if (rest < 0) return value
  }
  throw new Error('There is nothing to pick from')
}
