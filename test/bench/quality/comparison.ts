/** Compares the service with peers on the same queries: correct results and latency. */
import { markdown, percent, targetOf, type Target } from '../markdown.ts'
import { groupedBy } from './grouped.ts'
import { recall, timed, type OpenContender } from '../search/contender.ts'
import { quantile } from '../statistics.ts'
import { share } from './tally.ts'
import type { Question } from './questions.ts'
import type { ReferenceRegister } from './register.ts'
import { shuffled } from './sample.ts'

/** In classes with fewer queries, engines differ by chance. */
const JUDGED_QUERIES_MIN = 50

/** About sixty of each class. The slowest peers need over 100 ms per query. */
const COMPARED_QUESTIONS = 2_000

export interface Compared {
  name: string
  asked: number
  top1: number
  top5: number
  /** Mean over the queries; NaN without a reference ranking. */
  recall: number
  p50: number
  p95: number
  p99: number
  /** By class, how many first answers were right. */
  byClass: ReadonlyMap<string, ClassCount>
}

interface ClassCount {
  label: string
  asked: number
  right: number
}

/** About the same number of questions of every class, so that no class dominates. */
export function comparedQuestions(questions: readonly Question[], seed: number, size = COMPARED_QUESTIONS): Question[] {
  const findable = questions.filter(({ expected }) => expected)
  const classes = [...groupedBy(findable, (question) => question.class.id).values()]
  const each = Math.ceil(size / classes.length)
  return shuffled(
    classes.flatMap((ofClass) => shuffled(ofClass, seed).slice(0, each)),
    seed,
  ).slice(0, size)
}

interface Comparison {
  questions: readonly Question[]
  register: ReferenceRegister
  contenders: readonly OpenContender[]
  /** The reference ranking for recall. */
  exhaustive: OpenContender | undefined
  onProgress: (name: string) => void
}

export async function compare({
  questions,
  register,
  contenders,
  exhaustive,
  onProgress,
}: Comparison): Promise<Compared[]> {
  const names = questions.map(({ asked }) => asked.name)
  const truth = await exhaustiveRankings(exhaustive, names, register)
  const result: Compared[] = []
  for (const open of contenders) {
    const contender = await open(register.companies)
    if (!contender) continue
    onProgress(contender.name)
    try {
      const { rankings, times } = await timed(contender, names)
      result.push({ name: contender.name, ...scoreRankings(questions, rankings, truth), ...latencies(times) })
    } finally {
      await contender.close()
    }
  }
  return result
}

async function exhaustiveRankings(
  open: OpenContender | undefined,
  names: readonly string[],
  register: ReferenceRegister,
): Promise<Rankings | undefined> {
  const exhaustive = await open?.(register.companies)
  if (!exhaustive) return undefined
  const { rankings } = await timed(exhaustive, names)
  await exhaustive.close()
  return rankings
}

type Rankings = readonly (readonly string[])[]

function scoreRankings(questions: readonly Question[], rankings: Rankings, truth: Rankings | undefined) {
  const ranks = questions.map(
    ({ accepted }, at) => rankings[at]?.findIndex((number) => accepted.includes(number)) ?? -1,
  )
  const within = (count: number) => ranks.filter((rank) => rank >= 0 && rank < count).length
  const recalls = rankings.flatMap((ranking, at) => recall(ranking, truth?.[at] ?? []) ?? [])
  const byClass = new Map<string, ClassCount>()
  for (const [at, { class: each }] of questions.entries()) {
    const count = byClass.get(each.id) ?? { label: `${each.id} ${each.label}`, asked: 0, right: 0 }
    count.asked += 1
    if (ranks[at] === 0) count.right += 1
    byClass.set(each.id, count)
  }
  return {
    byClass,
    asked: questions.length,
    top1: share(within(1), questions.length),
    top5: share(within(5), questions.length),
    recall: share(
      recalls.reduce((sum, each) => sum + each, 0),
      recalls.length,
    ),
  }
}

function latencies(times: readonly number[]) {
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95), p99: quantile(times, 0.99) }
}

/** A row per class, a column per engine. */
export function comparisonByClass(compared: readonly Compared[]): string {
  const classes = [...(compared[0]?.byClass.entries() ?? [])]
  const lines = classes.map(([id, { label, asked }]) => {
    const shares = compared.map(({ byClass }) => percent(share(byClass.get(id)?.right ?? 0, asked)))
    return [label, String(asked)].concat(shares)
  })
  return markdown(['class', 'queries', ...compared.map(({ name }) => name)], lines)
}

/** Whether a peer's lead is above two standard errors of the difference of two shares. The table shows every difference. */
function isBehind({ right, peer, asked }: { right: number; peer: number; asked: number }): boolean {
  const mean = (right + peer) / (2 * asked)
  return (peer - right) / asked > 2 * Math.sqrt((2 * mean * (1 - mean)) / asked)
}

/** The service, which comes first, has at least as many right first answers as the best peer. */
export function comparisonTargets([own, ...peers]: readonly Compared[]): Target[] {
  if (!own || peers.length === 0) return []
  const best = Math.max(...peers.map(({ top1 }) => top1))
  const worse = [...own.byClass].flatMap(([id, { label, asked, right }]) => {
    if (asked < JUDGED_QUERIES_MIN) return []
    const peer = Math.max(...peers.map(({ byClass }) => byClass.get(id)?.right ?? 0))
    return isBehind({ right, peer, asked }) ? [`${label} (${peer - right} more)`] : []
  })
  const [isBetter, areBetter] = [own.top1 > best, worse.length === 0]
  return [
    targetOf('more right first answers than any other engine', {
      value: own.top1,
      text: percent(own.top1),
      isMet: isBetter,
    }),
    targetOf(`not fewer, beyond chance, in any class with ${JUDGED_QUERIES_MIN} queries`, {
      value: worse.length,
      text: areBetter ? 'all classes' : worse.join(', '),
      isMet: areBetter,
    }),
  ]
}

export function comparisonTable(compared: readonly Compared[]): string {
  const headings = ['', 'queries', 'top 1', 'top 5', 'recall@10', 'p50 ms', 'p95 ms', 'p99 ms']
  const lines = compared.map(({ name, asked, top1, top5, recall: found, p50, p95, p99 }) => [
    name,
    String(asked),
    ...[top1, top5, found].map(percent),
    ...[p50, p95, p99].map((milliseconds) => milliseconds.toFixed(2)),
  ])
  return markdown(headings, lines)
}
