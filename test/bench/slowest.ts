/**
 * `bench slowest [--minutes N] [--rows N] [--seed S]`: looks for the query that occupies the process longest. It draws
 * queries of every class, and changes the slowest ones letter by letter and word by word.
 */
import { below, pick, randomFor, type Random } from '../support/random.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { makeRegister } from './generated-register.ts'
import { describeMachine } from './machine.ts'
import { markdown } from './markdown.ts'
import { openNamesBench } from './perf/names.ts'
import { print } from './print.ts'
import type { Contender } from './search/contender.ts'
import { HOSTILE, QUERY_CHARACTERS_MAX } from './search/queries.ts'

const QUERY_MS_MAX = 25
/** Shorter runs are not judged: they only show that the program works. */
const JUDGED_MINUTES_MIN = 1
/** Queries of each class that are drawn from the register. */
const QUERIES_PER_CLASS = 200
/** The minimum of several measurements, because interruptions only add time. */
const MEASUREMENTS = 3
const FINAL_MEASUREMENTS = 21
/** Changes without an improvement after which the search starts again from another query. */
const FAILED_CHANGES_MAX = 60
const REPORTED = 5
const QUERY_SHOWN_CHARACTERS = 60

interface Measured {
  contender: Contender
  query: string
  milliseconds: number
}

export async function slowest({ minutes = '10', rows = '1000000', seed = '1' }: Record<string, string>) {
  const directory = await makeTemporaryDirectory()
  await using bench = await openNamesBench(await makeRegister(directory, Number(rows)), QUERIES_PER_CLASS)
  const random = randomFor(Number(seed), 0, 0)
  const contenders = [bench.search, bench.resolve]
  /** Without duplicates, slowest first. */
  let worst: Measured[] = []
  let count = 0
  const measure = (query: string): number => {
    count += 1
    const measured = contenders.map((contender) => measureCpu(contender, query, MEASUREMENTS))
    const others = worst.filter((each) => each.query !== query)
    worst = [...others, ...measured.toSorted(bySlowest).slice(0, 1)].toSorted(bySlowest).slice(0, REPORTED)
    return Math.max(...measured.map(({ milliseconds }) => milliseconds))
  }

  const drawn = bench.groups.flatMap(({ queries }) => queries)
  const end = performance.now() + Number(minutes) * 60_000
  for (const query of drawn) measure(query)
  const starts = [
    () => pick(random, drawn),
    () => pick(random, HOSTILE)(random, drawn.slice(0, QUERIES_PER_CLASS)),
    () => pick(random, worst).query,
  ]
  while (performance.now() < end) climb(pick(random, starts)(), { random, measure })

  const found = worst
    .map(({ contender, query }) => measureCpu(contender, query, FINAL_MEASUREMENTS))
    .toSorted(bySlowest)
  const lines = found.map(({ contender, query, milliseconds }) => [
    milliseconds.toFixed(1),
    contender.name,
    String(query.length),
    query.slice(0, QUERY_SHOWN_CHARACTERS),
  ])
  const table = markdown(['CPU ms', 'operation', 'characters', 'query, its beginning'], lines)
  print(`${describeMachine()}; ${rows} rows, seed ${seed}, ${count} queries\n\n${table}\n`)
  const isJudged = Number(minutes) >= JUDGED_MINUTES_MIN
  const slowestMs = found[0]?.milliseconds ?? Number.NaN
  print(`slowest ${slowestMs.toFixed(1)} ms${isJudged ? '' : ', not judged below one minute'}`)
  return !isJudged || slowestMs <= QUERY_MS_MAX
}

/** Changes a query for as long as that makes it slower. */
function climb(start: string, { random, measure }: { random: Random; measure: (query: string) => number }): void {
  let query = start
  let time = measure(query)
  for (let failed = 0; failed < FAILED_CHANGES_MAX; failed += 1) {
    const changed = pick(random, CHANGES)(query, random).slice(0, QUERY_CHARACTERS_MAX).trim()
    const changedTime = measure(changed)
    if (changedTime <= time) continue
    query = changed
    time = changedTime
    failed = 0
  }
}

const LETTERS = Array.from('eairnotlsucdbghkmp')

/** Changes of letters and of the number of words. */
const CHANGES: readonly ((query: string, random: Random) => string)[] = [
  (query, random) => splice(query, below(random, query.length), 1, pick(random, LETTERS)),
  (query, random) => splice(query, below(random, query.length), 1, ''),
  (query, random) => splice(query, below(random, query.length + 1), 0, pick(random, LETTERS)),
  (query, random) => splice(query, below(random, query.length + 1), 0, ' '),
  (query, random) => withWords(query, (words) => words.toSpliced(below(random, words.length), 1)),
  (query, random) => withWords(query, (words) => [...words, pick(random, words)]),
]

function splice(text: string, at: number, removed: number, added: string): string {
  return text.slice(0, at) + added + text.slice(at + removed)
}

function withWords(query: string, change: (words: string[]) => string[]): string {
  const words = query.split(' ').filter((word) => word !== '')
  return words.length === 0 ? query : change(words).join(' ')
}

/** CPU time, because elapsed time also passes while the machine runs other processes. */
function measureCpu(contender: Contender, query: string, measurements: number): Measured {
  let milliseconds = Number.POSITIVE_INFINITY
  for (let each = 0; each < measurements; each += 1) {
    const began = process.cpuUsage()
    void contender.top(query)
    const { user, system } = process.cpuUsage(began)
    milliseconds = Math.min(milliseconds, (user + system) / 1000)
  }
  return { contender, query, milliseconds }
}

function bySlowest(one: Measured, other: Measured): number {
  return other.milliseconds - one.milliseconds
}
