/**
 * `bench perf [--size full|ci] [--only NAME] [--former TREE]`: what the operations of the service cost, each beside its
 * baselines in the same run. Fails if a row misses its target or cannot be measured. At the size ci only some rows are
 * judged. TREE is a former release, built.
 */
import { basename, resolve } from 'node:path'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { sharedRegisters } from './generated-register.ts'
import { measureBatch } from './perf/batch.ts'
import { measureFormer } from './perf/former.ts'
import { measureHistory } from './perf/history.ts'
import { openHttpBench } from './perf/http-rounds.ts'
import { measureList } from './perf/list.ts'
import { measureLogWrites } from './perf/log-writes.ts'
import { measureSearch, measureSearchMillion } from './perf/names.ts'
import { measurePageList } from './perf/page-list.ts'
import { measurePage } from './perf/page.ts'
import { measurePaidLookup } from './perf/paid-lookup.ts'
import type { MeasureRows, PerfContext, PerfRow, PerfSize } from './perf/perf-row.ts'
import {
  measureForged,
  measureMcp,
  measureQuote,
  measureRefused,
  measureReplay,
  measureScrape,
} from './perf/requests.ts'
import { describeLimit, PERF_TARGETS, type PerfRowId, type PerfTarget } from './targets.ts'
import { describeMachine, markdown, print } from './report.ts'

const PERF_SIZES: Record<string, PerfSize> = {
  full: {
    // With five rounds, a disturbance of one or two of them does not change the median.
    rounds: 5,
    requestShare: 1,
    warmUpRequests: 1_500,
    warmUpSales: 6_000,
    registerRows: 100_000,
    queries: 1_000,
    importRows: 1_000_000,
  },
  // Shows that every row can be measured.
  ci: {
    rounds: 2,
    requestShare: 0.02,
    warmUpRequests: 20,
    warmUpSales: 20,
    registerRows: 30_000,
    queries: 20,
    importRows: 5_000,
  },
}

/** The rows that the size ci judges, at 1.5 times their targets, which they stay far below on a loaded machine too. */
const JUDGED_AT_CI = new Set<PerfRowId>(['receipt jose', 'batch cpu', 'list memory', 'search fuzzy p50', 'history cpu'])
const CI_FACTOR = 1.5

/** The rows that share one running service. */
const HTTP_FILES = {
  quote: measureQuote,
  forged: measureForged,
  refused: measureRefused,
  scrape: measureScrape,
  replay: measureReplay,
  'paid-lookup': measurePaidLookup,
  mcp: measureMcp,
  batch: measureBatch,
  list: measureList,
  former: measureFormer,
}
const measureImport: MeasureRows = async ({ size, register }) => {
  const { cost } = await register(size.importRows)
  if (cost.rows !== size.importRows) throw new Error(`${cost.rows} of ${size.importRows} rows were imported`)
  return [
    { id: 'import cpu', value: cost.cpuSeconds },
    { id: 'import memory', value: cost.memory },
  ]
}

const OTHER_FILES = {
  search: measureSearch,
  'search-million': measureSearchMillion,
  import: measureImport,
  history: measureHistory,
  'log-writes': measureLogWrites,
  page: measurePage,
  'page-list': measurePageList,
}

export async function perf({ size = 'full', only, former }: Record<string, string>): Promise<boolean> {
  const chosen = PERF_SIZES[size]
  if (!chosen) throw new Error(`--size is ${Object.keys(PERF_SIZES).join(' or ')}`)
  const files = [...Object.keys(HTTP_FILES), ...Object.keys(OTHER_FILES)]
  if (only !== undefined && !files.includes(only)) throw new Error(`--only is one of ${files.join(', ')}`)
  const directory = await makeTemporaryDirectory()
  const tree = former === undefined ? undefined : resolve(former)
  const context = { size: chosen, directory, register: sharedRegisters(directory), former: tree }
  const rows = await measureAll(context, only)
  const release = tree === undefined ? 'no former release' : `former release ${basename(tree)}`
  print(`${describeMachine()}; size ${size}; ${release}\n\n${toTable(rows, size)}`)
  const missed = rows.filter((row) => verdictOf(row, size) === 'MISSED').length
  print(`\n${rows.length} rows, ${missed} targets missed`)
  return missed === 0
}

async function measureAll(context: PerfContext, only: string | undefined): Promise<PerfRow[]> {
  const rows: PerfRow[] = []
  const measured = async (file: string, measuring: Promise<PerfRow[]>) => {
    const found = await measuring
    // At once, because there is no table if a later row cannot be measured.
    for (const { id, value, baseline } of found) console.error(file, id, value, baseline?.value ?? '')
    rows.push(...found)
  }
  const isWanted = (file: string) => only === undefined || only === file
  if (Object.keys(HTTP_FILES).some(isWanted)) {
    await using bench = await openHttpBench(context)
    for (const [file, rowsOf] of Object.entries(HTTP_FILES))
      if (isWanted(file)) await measured(file, rowsOf(bench, context))
  }
  for (const [file, rowsOf] of Object.entries(OTHER_FILES)) if (isWanted(file)) await measured(file, rowsOf(context))
  return rows
}

function toTable(rows: readonly PerfRow[], size: string): string {
  const show = (value: number | undefined, digits: number) => value?.toFixed(digits) ?? '-'
  const lines = rows.map((row) => {
    const rowTarget: PerfTarget = PERF_TARGETS[row.id]
    const { file, row: name, unit, digits, limit } = rowTarget
    return [
      `bench perf --only ${file}`,
      name,
      unit,
      show(row.value, digits),
      row.baseline?.name ?? '-',
      show(row.baseline?.value, digits),
      show(row.ratio, 2),
      limit ? describeLimit({ ...limit, value: boundOf(limit, size) }) : '-',
      verdictOf(row, size),
    ]
  })
  return markdown(['command', 'row', 'unit', 'value', 'baseline', 'its value', 'ratio', 'target', 'verdict'], lines)
}

function verdictOf({ id, value, ratio = Number.NaN }: PerfRow, size: string): 'met' | 'MISSED' | '-' {
  const { limit }: PerfTarget = PERF_TARGETS[id]
  if (!limit || (size === 'ci' && !JUDGED_AT_CI.has(id))) return '-'
  const judged = limit.of === 'ratio' ? ratio : value
  const isMet = limit.bound === 'at least' ? judged >= boundOf(limit, size) : judged <= boundOf(limit, size)
  return isMet ? 'met' : 'MISSED'
}

function boundOf({ bound, value }: NonNullable<PerfTarget['limit']>, size: string): number {
  const factor = size === 'ci' ? CI_FACTOR : 1
  return bound === 'at least' ? value / factor : value * factor
}
