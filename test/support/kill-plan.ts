/** Which sales the kill programme makes, through which door, and where each is killed: drawn from one integer. */
import { below, pick, randomFor, type Random } from '../../agent/sandbox/sample-random.ts'
import { KILL_DOORS, type KillDoor } from './kill-doors.ts'
import { KILL_POINTS, pointOf, type KillPoint } from './kill-points.ts'

/** In each round, beside at least one kill at each point: 31 in all. */
const RANDOM_PER_ROUND = 7
/** Over the time that a write or a verification takes. */
const DELAY_MS_MAX = 3

export interface Scenario {
  index: number
  door: KillDoor
  /** The first in the life that the request comes to, the others in the lives after it. */
  points: readonly KillPoint[]
  /** From a step's beginning to the kill, where the step is killed before its end. */
  delayMs: number
  /** At which share of a sale's usual length it is killed, where that is random. */
  share: number
  /** Whether a transaction that was held is mined only when the service is up again. */
  isMinedLate: boolean
  /** Where settling again is killed. */
  again: 'signed' | 'mined'
}

/** Sales with at least so many kills in all. A round has every point; none is cut short. */
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
        door: pick(random, KILL_DOORS),
        points,
        delayMs: random() * DELAY_MS_MAX,
        share: random(),
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
