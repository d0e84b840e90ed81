/**
 * `bench perf [--size full|ci] [--only NAME]`: what the operations of the service cost, each beside its baselines in the
 * same run. A row that misses its target fails the full size only; a row that cannot be measured always fails.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sharedRegisters } from './generated-register.ts'
import { describeMachine } from './machine.ts'
import { markdown } from './markdown.ts'
import { measureBatch } from './perf/batch.ts'
import { measureForged } from './perf/forged.ts'
import { openHttpBench } from './perf/http-rounds.ts'
import { measureImport } from './perf/import.ts'
import { measureMcp } from './perf/mcp.ts'
import { openNamesBench } from './perf/names.ts'
import { measureOpenPayments } from './perf/open-payments.ts'
import { measurePaidLookup } from './perf/paid-lookup.ts'
import type { PerfContext, PerfRow, PerfSize } from './perf/perf-row.ts'
import { measureProcesses } from './perf/processes.ts'
import { measureQuote } from './perf/quote.ts'
import { measureReplay } from './perf/replay.ts'
import { measureResolve } from './perf/resolve.ts'
import { measureSearch } from './perf/search.ts'
import { measureSearchMillion } from './perf/search-million.ts'
import { measureStart } from './perf/start.ts'
import { PERF_TARGETS, type PerfRowId, type PerfTarget } from './targets.ts'

const PERF_SIZES: Record<string, PerfSize> = {
  full: {
    // With five rounds, a disturbance of one or two of them does not change the median.
    rounds: 5,
    requestShare: 1,
    warmUpRequests: 1_500,
    registerRows: 100_000,
    queries: 1_000,
    importRows: 1_000_000,
    starts: 3,
  },
  // Shows that every row can be measured, and nothing about speed.
  ci: {
    rounds: 2,
    requestShare: 0.02,
    warmUpRequests: 20,
    registerRows: 3_000,
    queries: 20,
    importRows: 5_000,
    starts: 1,
  },
}

type Measurement = { kind: 'row'; row: PerfRow } | { kind: 'failed'; file: string; reason: string }

export async function perf({ size = 'full', only }: Record<string, string>): Promise<boolean> {
  const chosen = PERF_SIZES[size]
  if (!chosen) throw new Error(`--size is ${Object.keys(PERF_SIZES).join(' or ')}`)
  const files = [...new Set(Object.values<PerfTarget>(PERF_TARGETS).map(({ file }) => file))]
  if (only !== undefined && !files.includes(only)) throw new Error(`--only is one of ${files.join(', ')}`)
  const directory = await mkdtemp(join(tmpdir(), 'perf-'))
  try {
    const measurements = await measureAll({ size: chosen, directory, register: sharedRegisters(directory) }, only)
    process.stdout.write(`${describeMachine()}; size ${size}\n\n${toTable(measurements, size === 'full')}\n`)
    for (const each of measurements)
      if (each.kind === 'failed') process.stdout.write(`\n${each.file} failed: ${each.reason}\n`)
    const failed = measurements.filter(({ kind }) => kind === 'failed').length
    const missed = measurements.filter((each) => each.kind === 'row' && verdictOf(each.row) === 'MISSED').length
    const isJudged = size === 'full'
    const verdict = isJudged ? `${missed} targets missed` : 'targets not judged at this size'
    process.stdout.write(`\n${measurements.length - failed} rows, ${failed} failed, ${verdict}\n`)
    return failed === 0 && !(isJudged && missed > 0)
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function measureAll(context: PerfContext, only: string | undefined): Promise<Measurement[]> {
  const { size } = context
  const measurements: Measurement[] = []
  const isWanted = (file: string) => only === undefined || only === file
  const fail = (file: string, cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    measurements.push({ kind: 'failed', file, reason })
  }
  /** Opens what the files share, and measures the rows of each of them. */
  async function measure<Bench>(
    open: () => Promise<Bench & AsyncDisposable>,
    files: Record<string, (bench: Bench) => Promise<PerfRow[]>>,
  ): Promise<void> {
    const wanted = Object.entries(files).filter(([file]) => isWanted(file))
    if (wanted.length === 0) return
    try {
      await using bench = await open()
      for (const [file, rowsOf] of wanted) {
        try {
          for (const row of await rowsOf(bench)) measurements.push({ kind: 'row', row })
        } catch (cause) {
          fail(file, cause)
        }
      }
    } catch (cause) {
      for (const [file] of wanted) fail(file, cause)
    }
  }
  await measure(() => openHttpBench(context), {
    quote: (bench) => measureQuote(bench, size),
    forged: (bench) => measureForged(bench, size),
    replay: (bench) => measureReplay(bench, size),
    'paid-lookup': (bench) => measurePaidLookup(bench, context),
    mcp: (bench) => measureMcp(bench, size),
    batch: (bench) => measureBatch(bench, context),
  })
  const nothing = { [Symbol.asyncDispose]: async () => undefined }
  await measure(async () => nothing, {
    processes: () => measureProcesses(context),
    'open-payments': () => measureOpenPayments(context),
  })
  const openNames = async () => openNamesBench(await context.register(size.registerRows), size.queries)
  await measure(openNames, { search: measureSearch, resolve: measureResolve })
  await measure(async () => nothing, {
    'search-million': () => measureSearchMillion(context),
    import: () => measureImport(context),
    start: () => measureStart(context),
  })
  return measurements
}

function toTable(measurements: readonly Measurement[], isJudged: boolean): string {
  const rows = measurements.flatMap((each) => (each.kind === 'row' ? [each.row] : []))
  const order = Object.keys(PERF_TARGETS)
  const lines = rows
    .toSorted((one, other) => order.indexOf(one.id) - order.indexOf(other.id))
    .map((row) => toLine(row, isJudged))
  return markdown(['command', 'row', 'unit', 'value', 'baseline', 'its value', 'ratio', 'target', 'verdict'], lines)
}

function toLine(row: PerfRow, isJudged: boolean): string[] {
  const { file, row: name, unit, digits }: PerfTarget = PERF_TARGETS[row.id]
  const show = (value: number | undefined) => (value === undefined ? '-' : value.toFixed(digits))
  return [
    `bench perf --only ${file}`,
    name,
    unit,
    show(row.value),
    row.baseline?.name ?? '-',
    show(row.baseline?.value),
    row.ratio?.toFixed(2) ?? '-',
    describeLimit(row.id),
    isJudged ? verdictOf(row) : 'not judged',
  ]
}

function describeLimit(id: PerfRowId): string {
  const { limit, unit }: PerfTarget = PERF_TARGETS[id]
  if (!limit) return '-'
  if ('min' in limit) return `ratio at least ${limit.min}`
  return limit.of === 'ratio' ? `ratio at most ${Number(limit.max.toFixed(2))}` : `at most ${limit.max} ${unit}`
}

function verdictOf({ id, value, ratio = Number.NaN }: PerfRow): 'met' | 'MISSED' | '-' {
  const { limit }: PerfTarget = PERF_TARGETS[id]
  if (!limit) return '-'
  const isMet = 'min' in limit ? ratio >= limit.min : (limit.of === 'ratio' ? ratio : value) <= limit.max
  return isMet ? 'met' : 'MISSED'
}
