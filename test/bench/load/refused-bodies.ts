/** Bodies of `POST /api/v1/batch` that are refused, by the row of `bench perf` that measures their refusal. */

const BATCH_BYTES_MAX = 65_536
const resolving = (input: object) => JSON.stringify({ operation: 'resolve', inputs: [input] })
const members = Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`m${index}`, 1]))

export const BATCH_PATH = '/api/v1/batch'

export const REFUSED_BODIES = {
  /** Two classes of combining marks, which NFKC sorts in a time that grows with the square of their number. */
  'refused marks': { status: 400, body: resolving({ name: `a${'\u0301'.repeat(16_000)}${'\u0316'.repeat(15_900)}` }) },
  /** One character, of which NFKC makes eighteen. */
  'refused ligatures': { status: 400, body: resolving({ name: '\ufdfa'.repeat(21_500) }) },
  'refused members': { status: 400, body: resolving({ name: 'abc', ...members }) },
  'refused values': { status: 400, body: resolving(Array<number>(32_000).fill(1)) },
  'refused size': { status: 413, body: ' '.repeat(BATCH_BYTES_MAX + 1) },
} as const
