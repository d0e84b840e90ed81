/**
 * `bench perf [--size full|ci] [--only NAME] [--former TREE]`: what the operations of the service cost, each beside its
 * baselines in the same run. Fails if a row misses its target or cannot be measured. At the size ci only some rows are
 * judged. TREE is a former release, built.
 */
import { fork } from 'node:child_process'
import { basename, resolve } from 'node:path'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { nextMessage, SERVICE_FLAGS, testProgram } from './load/server-process.ts'
import { PERF_FILES, PERF_SIZES } from './perf/files.ts'
import type { PerfRow } from './perf/perf-row.ts'
import { describeLimit, PERF_TARGETS, type PerfRowId, type PerfTarget } from './targets.ts'
import { describeMachine, markdown, print } from './report.ts'

/** The rows that the size ci judges, at 1.5 times their targets, which they stay far below on a loaded machine too. */
const JUDGED_AT_CI = new Set<PerfRowId>(['receipt jose', 'batch cpu', 'list memory', 'search fuzzy p50', 'history cpu'])
const CI_FACTOR = 1.5

export async function perf({ size = 'full', only, former }: Record<string, string>): Promise<boolean> {
  if (!PERF_SIZES[size]) throw new Error(`--size is ${Object.keys(PERF_SIZES).join(' or ')}`)
  if (only !== undefined && !PERF_FILES.includes(only)) throw new Error(`--only is one of ${PERF_FILES.join(', ')}`)
  const registers = await makeTemporaryDirectory()
  const tree = former === undefined ? [] : [resolve(former)]
  const rows: PerfRow[] = []
  for (const file of only === undefined ? PERF_FILES : [only]) {
    const found = await measureApart([file, size, registers, ...tree])
    // At once, because there is no table if a later row cannot be measured.
    for (const { id, value, baseline } of found) console.error(file, id, value, baseline?.value ?? '')
    rows.push(...found)
  }
  const release = former === undefined ? 'no former release' : `former release ${basename(former)}`
  print(`${describeMachine()}; size ${size}; ${release}\n\n${toTable(rows, size)}`)
  const missed = rows.filter((row) => verdictOf(row, size) === 'MISSED').length
  print(`\n${rows.length} rows, ${missed} targets missed`)
  return missed === 0
}

/**
 * In a process of its own, with the young generation of `npm start`, which decides how often garbage is collected. The
 * limit of the old generation there is too low for a register of a million companies in this process.
 */
async function measureApart(args: readonly string[]): Promise<PerfRow[]> {
  const execArgv = SERVICE_FLAGS.filter((flag) => flag.includes('semi-space'))
  return nextMessage<PerfRow[]>(fork(testProgram('perf-rows'), args, { execArgv }))
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
