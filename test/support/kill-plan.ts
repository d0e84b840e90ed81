/** The sales of the kill programme: transports and kill points, drawn from one seed. */
import { below, pick, randomFor, type Random } from '../../agent/sandbox/sample-random.ts'
import { KILL_TRANSPORTS, type KillTransport } from './kill-requests.ts'
import { KILL_POINTS, pointOf, type KillPoint } from './kill-points.ts'
import { RPC_FAULTS, type RpcFault } from './rpc-faults.ts'

/** Each round kills at least once at each kill point, and this many times at a random moment: 33 kills together. */
const RANDOM_PER_ROUND = 7
/** Longer than a write or a verification takes. */
const DELAY_MS_MAX = 3
const DISTURBED_EVERY = 10
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Minutes, and more than the retention of 30 days. */
const CLOCK_ERRORS_MS = [
  MINUTE_MS,
  -MINUTE_MS,
  10 * MINUTE_MS,
  -10 * MINUTE_MS,
  31 * DAY_MS,
  -31 * DAY_MS,
  -40 * DAY_MS,
]
/** Longer than an observation of the chain and a removal of records take. */
const LIFE_MS_MAX = 1_500

export interface Scenario {
  index: number
  transport: KillTransport
  /** The first is in the process that gets the request, each other one in the process after the restart. */
  points: readonly KillPoint[]
  /** From the start of a step to the kill, for points within a step. */
  delayMs: number
  /** The time of a random kill as a share of a sale's usual duration. */
  share: number
  /** Whether a paused transaction is mined only after the restart. */
  isMinedLate: boolean
  /** The kill point of a repeated settlement. */
  again: 'signed' | 'mined'
  /** For every tenth sale: a process between the kill and the recovery with a faulty node and a wrong clock. */
  disturbance: Disturbance | undefined
}

export interface Disturbance {
  rpcFault: RpcFault
  /** Added to the clock of the process. */
  clockErrorMs: number
  /** From the readiness of the process to its kill. */
  lifeMs: number
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
        share: random(),
        isMinedLate: random() < 0.5,
        again: pick(random, ['signed', 'mined'] as const),
        disturbance: scenarios.length % DISTURBED_EVERY === 0 ? disturb(random) : undefined,
      })
    }
  }
  return scenarios
}

function disturb(random: Random): Disturbance {
  return {
    rpcFault: pick(random, RPC_FAULTS),
    clockErrorMs: pick(random, CLOCK_ERRORS_MS),
    lifeMs: random() * LIFE_MS_MAX,
  }
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
