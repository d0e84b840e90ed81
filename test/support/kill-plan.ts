/** The sales of the kill program: transports and kill points, drawn from one seed. */
import { below, pick, randomFor, type Random } from './random.ts'
import { KILL_TRANSPORTS, type KillTransport } from './kill-requests.ts'
import { KILL_POINTS, pointOf, type KillPoint } from './kill-points.ts'

/** Each round kills at least once at each kill point, and this many times at a random moment: 33 kills together. */
const RANDOM_PER_ROUND = 7
/** Longer than a write or a verification takes. */
const DELAY_MS_MAX = 3
/** About as long as the first sale of a process takes. */
const RANDOM_MS_MAX = 400

export interface Scenario {
  index: number
  transport: KillTransport
  /** The first is in the process that gets the request, each other one in the process after the restart. */
  points: readonly KillPoint[]
  /** From the start of a step to the kill, for points within a step. */
  delayMs: number
  /** From the request to a random kill. */
  randomMs: number
  /** Whether a paused transaction is mined only after the restart. */
  isMinedLate: boolean
  /** The kill point of a repeated settlement. */
  again: 'signed' | 'mined'
}

/** Sales with at least this many kills in total. A round has every point. */
export function planKills({ seed, kills }: { seed: number; kills: number }): Scenario[] {
  const scenarios: Scenario[] = []
  let planned = 0
  for (let round = 0; planned < kills; round += 1) {
    const random = randomFor(seed, round, 0)
    for (const points of shuffled(random, roundOf(random))) {
      if (planned >= kills) break
      planned += points.length
      scenarios.push({
        index: scenarios.length,
        transport: pick(random, KILL_TRANSPORTS),
        points,
        delayMs: random() * DELAY_MS_MAX,
        randomMs: random() * RANDOM_MS_MAX,
        isMinedLate: random() < 0.5,
        again: pick(random, ['signed', 'mined'] as const),
      })
    }
  }
  return scenarios
}

function roundOf(random: Random): KillPoint[][] {
  const named = KILL_POINTS.filter((point) => point !== 'random').map((point): KillPoint[] => {
    const { after } = pointOf(point)
    const before: readonly KillPoint[] = after ? pick(random, after) : []
    return before.concat(point)
  })
  return [...named, ...Array.from({ length: RANDOM_PER_ROUND }, (): KillPoint[] => ['random'])]
}

function shuffled<Value>(random: Random, values: readonly Value[]): Value[] {
  const left = [...values]
  return Array.from({ length: left.length }, () => left.splice(below(random, left.length), 1)).flat()
}
