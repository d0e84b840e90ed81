/** The measured times as tables, and held against the targets. */
import { quantile, recall } from '../peers/contender.ts'
import { POSTGRES } from '../peers/postgres.ts'
import { markdown, percent, targetOf, type Target } from '../targets.ts'
import type { QueryGroup } from './queries.ts'

type Rankings = readonly (readonly string[])[]

/** The product as a whole, by its other operation, and on the smaller share of the queries that peers are asked. */
export type Role = 'ours' | 'ours, resolving' | 'ours, beside peers' | 'peer'

export interface Measured {
  role: Role
  contender: string
  group: string
  kind: QueryGroup['kind']
  times: readonly number[]
  rankings: Rankings
  /** The exhaustive rankings of the same queries, where there are any. */
  truth: Rankings | undefined
}

const EXACT_P99_MS = 1
const FUZZY_P50_MS = 4
const FUZZY_P99_MS = 10
const SLOWEST_MS = 50
const RATIO_TO_POSTGRES_MIN = 20

export function timesTable(measured: readonly Measured[]): string {
  const base = new Map(measured.filter(isOurs).map(({ group, times }) => [group, quantile(times, 0.5)]))
  const lines = measured.map((each) => {
    const { contender, group, times } = each
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => quantile(times, part)) as [number, number, number]
    const ratio = p50 / (base.get(group) ?? Number.NaN)
    const milliseconds = [p50, p95, p99, Math.max(...times)].map((time) => time.toFixed(2))
    return [contender, group, String(times.length), ...milliseconds, `${ratio.toFixed(1)} x`, percent(recallOf([each]))]
  })
  const headings = ['', 'queries', 'number', 'p50 ms', 'p95 ms', 'p99 ms', 'slowest ms', 'p50 to ours', 'recall@10']
  return markdown(headings, lines)
}

const isOurs = ({ role }: Measured): boolean => role === 'ours'

export function timeTargets(measured: readonly Measured[]): Target[] {
  const ours = measured.filter(isOurs)
  const exact = timesOf(ours, 'exact')
  const fuzzy = timesOf(ours, 'fuzzy')
  const resolved = measured.filter(({ role }) => role === 'ours, resolving')
  return [
    below('exact and relaxed, p99', quantile(exact, 0.99), EXACT_P99_MS),
    ...resolved.map(({ group, times }) => below(`${group}, resolved, p99`, quantile(times, 0.99), EXACT_P99_MS)),
    below('fuzzy, p50', quantile(fuzzy, 0.5), FUZZY_P50_MS),
    below('fuzzy, p99', quantile(fuzzy, 0.99), FUZZY_P99_MS),
    below('slowest of all', Math.max(...ours.flatMap(({ times }) => times)), SLOWEST_MS),
    ...besidePostgres(measured),
  ]
}

/** Refusals and empty answers are fast too. */
export function everyExactNameFound(measured: readonly Measured[]): Target {
  const ours = measured.filter(isOurs)
  const rankings = ours.filter(({ kind }) => kind === 'exact').flatMap((each) => each.rankings)
  const value = rankings.filter((ranking) => ranking.length > 0).length / rankings.length
  return targetOf('exact and relaxed names found >= 100 %', { value, text: percent(value), isMet: value >= 1 })
}

/** On the peers' share of the queries, so that both were asked the same. */
function besidePostgres(measured: readonly Measured[]): Target[] {
  const postgres = measured.filter(({ contender, kind }) => contender === POSTGRES && kind === 'fuzzy')
  if (postgres.length === 0) return []
  const ours = measured.filter(({ role, kind }) => role === 'ours, beside peers' && kind === 'fuzzy')
  const ratio = quantile(timesOf(postgres, 'fuzzy'), 0.5) / quantile(timesOf(ours, 'fuzzy'), 0.5)
  const [found, theirs] = [recallOf(ours), recallOf(postgres)]
  return [
    targetOf(`fuzzy, times as fast as pg_trgm >= ${RATIO_TO_POSTGRES_MIN}`, {
      value: ratio,
      text: ratio.toFixed(1),
      isMet: ratio >= RATIO_TO_POSTGRES_MIN,
    }),
    targetOf('fuzzy, recall@10 not below that of pg_trgm', {
      value: found,
      text: `${percent(found)} and ${percent(theirs)}`,
      isMet: found >= theirs,
    }),
  ]
}

function timesOf(measured: readonly Measured[], wanted: QueryGroup['kind']): number[] {
  return measured.filter(({ kind }) => kind === wanted).flatMap(({ times }) => times)
}

function recallOf(measured: readonly Measured[]): number {
  const recalls = measured.flatMap(({ rankings, truth }) =>
    rankings.flatMap((ranking, at) => recall(ranking, truth?.[at] ?? []) ?? []),
  )
  return recalls.reduce((sum, each) => sum + each, 0) / recalls.length
}

function below(target: string, value: number, limit: number): Target {
  return targetOf(`${target} < ${limit} ms`, { value, text: `${value.toFixed(2)} ms`, isMet: value < limit })
}
