/** Compares the service with peers on the same queries: right first answers, in all and by class, and latency. */
import { CLASSES } from './classes.ts'
import { timed, type OpenContender } from '../search/contenders.ts'
import { quantile } from '../statistics.ts'
import type { Question } from './questions.ts'
import type { ReferenceRegister } from './register.ts'
import { shuffled } from './sample.ts'
import { markdown, percent, type Target } from '../report.ts'

/** The slowest peers need over 100 ms per query. */
const QUESTIONS_PER_CLASS = 40

/** The classes with a part of a name, as people type it into a search. */
const PARTS_OF_NAMES = /^s\d$/

interface Compared {
  name: string
  /** The rank of the first right answer to each question, from 0; -1 without one. */
  ranks: readonly number[]
  times: readonly number[]
}

interface Comparison {
  questions: readonly Question[]
  compared: readonly Compared[]
}

/**
 * Asks the same number of questions of every class that has enough, so that no class dominates. Opens one contender
 * after the other: two at once would share memory and processor caches.
 */
export async function compare(
  all: readonly Question[],
  { seed, register, contenders }: { seed: number; register: ReferenceRegister; contenders: readonly OpenContender[] },
): Promise<Comparison> {
  const findable = shuffled(all, seed).filter(({ expected }) => expected)
  const questions = CLASSES.flatMap(({ id }) =>
    findable.filter((question) => question.class.id === id).slice(0, QUESTIONS_PER_CLASS),
  )
  const names = questions.map(({ asked }) => asked.name)
  const compared: Compared[] = []
  for (const open of contenders) {
    await using contender = await open(register.companies)
    if (!contender) continue
    const { rankings, times } = await timed(contender, names)
    const ranks = questions.map(
      ({ accepted }, at) => rankings[at]?.findIndex((number) => accepted.includes(number)) ?? -1,
    )
    compared.push({ name: contender.name, ranks, times })
  }
  return { questions, compared }
}

export function comparisonTable({ compared }: Comparison): string {
  const lines = compared.map(({ name, ranks, times }) => {
    const within = (count: number) => percent(ranks.filter((rank) => rank >= 0 && rank < count).length / ranks.length)
    const latencies = [0.5, 0.95, 0.99].map((share) => quantile(times, share).toFixed(2))
    return [name, String(ranks.length), within(1), within(5), ...latencies]
  })
  return markdown(['', 'queries', 'top 1', 'top 5', 'p50 ms', 'p95 ms', 'p99 ms'], lines)
}

/** By engine, how many questions of the classes have a right first answer. */
function rightFirst({ questions, compared }: Comparison, isOfClass: (id: string) => boolean): number[] {
  return compared.map(
    ({ ranks }) => ranks.filter((rank, at) => rank === 0 && isOfClass(questions[at]?.class.id ?? '')).length,
  )
}

/** The service comes first. */
export function comparisonTargets(comparison: Comparison): Target[] {
  const [own = 0, ...peers] = rightFirst(comparison, () => true)
  const [ownParts = 0, ...peerParts] = rightFirst(comparison, (id) => PARTS_OF_NAMES.test(id))
  if (peers.length === 0) return []
  const of = (count: number, others: readonly number[]) => `${count}, best other engine ${Math.max(...others)}`
  return [
    {
      target: 'more right first answers than any other engine',
      measured: of(own, peers),
      isMet: own > Math.max(...peers),
    },
    {
      target: 'parts of names, s1 to s4: at least as many as any other engine',
      measured: of(ownParts, peerParts),
      isMet: ownParts >= Math.max(...peerParts),
    },
  ]
}
