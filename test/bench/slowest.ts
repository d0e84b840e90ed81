/**
 * `bench slowest [--minutes N] [--rows N] [--seed S]`: looks for the query that occupies the process longest. It draws
 * queries of every class, and changes the slowest ones letter by letter and word by word.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { below, pick, randomFor, type Random } from '../../agent/sandbox/sample-random.ts'
import type { Contender } from './search/contender.ts'
import { makeRegister } from './generated-register.ts'
import { describeMachine } from './machine.ts'
import { markdown } from './markdown.ts'
import { openNamesBench } from './perf/names.ts'
import { HOSTILE, QUERY_CHARACTERS_MAX } from './search/queries.ts'

const QUERY_MS_MAX = 25
/** Shorter runs are not judged: they only show that the programme works. */
const JUDGED_MINUTES_MIN = 1
/** Queries of each class that are drawn from the register. */
const QUERIES_PER_CLASS = 200
/** The minimum of several measurements, because interruptions only add time. */
const MEASUREMENTS = 3
const FINAL_MEASUREMENTS = 21
/** Changes without an improvement after which the search starts again from another query. */
const FAILED_CHANGES_MAX = 60
const REPORTED = 5
const WORDS_SHOWN_CHARACTERS = 60

interface Measured {
  operation: string
  query: string
  milliseconds: number
}

export async function slowest({ minutes = '10', rows = '1000000', seed = '1' }: Record<string, string>) {
  const directory = await mkdtemp(join(tmpdir(), 'slowest-'))
  try {
    await using bench = await openNamesBench(await makeRegister(directory, Number(rows)), QUERIES_PER_CLASS)
    const end = performance.now() + Number(minutes) * 60_000
    const classes = bench.groups.map(({ queries }) => queries)
    const search = new SlowestSearch([bench.search, bench.resolve], randomFor(Number(seed), 0, 0))
    for (const query of classes.flat()) search.measure(query)
    while (performance.now() < end) search.climb(classes)
    const found = search.remeasureSlowest()
    const isJudged = Number(minutes) >= JUDGED_MINUTES_MIN
    process.stdout.write(
      `${describeMachine()}; ${rows} rows, seed ${seed}, ${search.measured} queries\n\n${toTable(found)}\n\n`,
    )
    const slowestMs = found[0]?.milliseconds ?? Number.NaN
    process.stdout.write(`slowest ${slowestMs.toFixed(1)} ms${isJudged ? '' : ', not judged below one minute'}\n`)
    return !isJudged || slowestMs <= QUERY_MS_MAX
  } finally {
    await rm(directory, { recursive: true })
  }
}

class SlowestSearch {
  measured = 0
  readonly #contenders: readonly Contender[]
  readonly #random: Random
  /** By query, without duplicates; the slowest operation of each. */
  readonly #best = new Map<string, Measured>()

  constructor(contenders: readonly Contender[], random: Random) {
    this.#contenders = contenders
    this.#random = random
  }

  measure(query: string): number {
    this.measured += 1
    const [slower] = this.#contenders
      .map((contender) => ({
        operation: contender.name,
        query,
        milliseconds: leastCpuMs(contender, query, MEASUREMENTS),
      }))
      .toSorted(bySlowest)
    if (!slower) return 0
    this.#best.set(query, slower)
    if (this.#best.size > REPORTED) {
      const fastest = [...this.#best.values()].toSorted(bySlowest).at(-1)
      if (fastest) this.#best.delete(fastest.query)
    }
    return slower.milliseconds
  }

  /** Changes one query for as long as that makes it slower: a drawn one, a hostile one, or the slowest so far. */
  climb(classes: readonly (readonly string[])[]): void {
    const random = this.#random
    const drawn = pick(random, classes)
    const starts = [
      () => (drawn.length > 0 ? pick(random, drawn) : 'KERRY'),
      () => pick(random, HOSTILE)(random, classes.flat().slice(0, QUERIES_PER_CLASS)),
      () => pick(random, [...this.#best.keys()]),
    ]
    let query = pick(random, starts)()
    let time = this.measure(query)
    for (let failed = 0; failed < FAILED_CHANGES_MAX; failed += 1) {
      const changed = pick(random, CHANGES)(query, random).slice(0, QUERY_CHARACTERS_MAX).trim()
      const changedTime = this.measure(changed)
      if (changedTime <= time) continue
      query = changed
      time = changedTime
      failed = 0
    }
  }

  remeasureSlowest(): Measured[] {
    const remeasured = [...this.#best.values()].map(({ operation, query }) => {
      const contender = this.#contenders.find(({ name }) => name === operation)
      return { operation, query, milliseconds: contender ? leastCpuMs(contender, query, FINAL_MEASUREMENTS) : 0 }
    })
    return remeasured.toSorted(bySlowest)
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
  (query, random) =>
    withWords(query, (words) => words.map((word) => (random() < 0.5 ? word : shuffledLetters(word, random)))),
]

function splice(text: string, at: number, removed: number, added: string): string {
  return text.slice(0, at) + added + text.slice(at + removed)
}

function withWords(query: string, change: (words: string[]) => string[]): string {
  return change(query.split(' ').filter((word) => word !== '')).join(' ')
}

function shuffledLetters(word: string, random: Random): string {
  return Array.from(word, (letter) => ({ letter, key: random() }))
    .toSorted((one, other) => one.key - other.key)
    .map(({ letter }) => letter)
    .join('')
}

/** CPU time, because elapsed time also passes while the machine runs other processes. */
function leastCpuMs(contender: Contender, query: string, measurements: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let each = 0; each < measurements; each += 1) {
    const began = process.cpuUsage()
    void contender.top(query)
    const { user, system } = process.cpuUsage(began)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}

function bySlowest(one: Measured, other: Measured): number {
  return other.milliseconds - one.milliseconds
}

function toTable(found: readonly Measured[]): string {
  const lines = found.map(({ operation, query, milliseconds }) => [
    milliseconds.toFixed(1),
    operation,
    String(query.length),
    `${query.slice(0, WORDS_SHOWN_CHARACTERS)}${query.length > WORDS_SHOWN_CHARACTERS ? ' ...' : ''}`,
  ])
  return markdown(['CPU ms', 'operation', 'characters', 'query'], lines)
}
