/** The command `bench`: runs one benchmark or reliability check, or all of them for the report. */
import { parseArgs } from 'node:util'
import { stopTestChain } from '../support/chain.ts'
import { removeTemporaryDirectories } from '../support/temporary-directory.ts'
import { buyerKill } from './buyer-kill.ts'
import { failover } from './failover.ts'
import { fairness } from './fairness.ts'
import { fuzz } from './fuzz.ts'
import { history } from './history.ts'
import { importKill } from './import-kill.ts'
import { kill } from './kill.ts'
import { isLogKind, type Options } from './log-kind.ts'
import { matrix } from './matrix.ts'
import { mutants } from './mutants.ts'
import { order } from './order.ts'
import { perf } from './perf.ts'
import { print } from './print.ts'
import { quality } from './quality.ts'
import { race } from './race.ts'
import { reconcile } from './reconcile.ts'
import { reconcileKill } from './reconcile-kill.ts'
import { report } from './report.ts'
import { simulate } from './simulate.ts'
import { sizing } from './sizing.ts'
import { slowest } from './slowest.ts'
import { soak } from './soak.ts'
import { watchKill } from './watch-kill.ts'

/** Each prints what it found and resolves with whether that is as it must be. */
type Program = (options: Options) => Promise<boolean>

const PROGRAMS: Record<string, { run: Program; usage: string }> = {
  perf: { run: perf, usage: '[--size full|ci] [--only NAME]' },
  quality: {
    run: quality,
    usage:
      '[--dataset FILE | --rows N] [--samples N] [--seed S] [--half tuning|report|all] [--peers] [--debug FILE] [--removals N]',
  },
  slowest: { run: slowest, usage: '[--minutes N] [--rows N] [--seed S]' },
  simulate: {
    run: simulate,
    usage: '[--seeds N] [--from SEED] [--workers N] [--log lmdb|postgres] [--trace]',
  },
  kill: { run: kill, usage: '[--runs N] [--workers N] [--seed S] [--log lmdb|postgres]' },
  'buyer-kill': { run: buyerKill, usage: '[--runs N]' },
  reconcile: { run: reconcile, usage: '[--rows N] [--names N]' },
  'reconcile-kill': { run: reconcileKill, usage: '[--runs N]' },
  'watch-kill': { run: watchKill, usage: '[--runs N]' },
  failover: { run: failover, usage: '[--runs N] [--seed S]' },
  matrix: { run: matrix, usage: '[--only TEXT] [--workers N]' },
  race: { run: race, usage: '[--seconds N] [--log lmdb|postgres]' },
  order: { run: order, usage: '' },
  mutants: { run: mutants, usage: '[--seeds N] [--workers N] [--only TEXT]' },
  fairness: { run: fairness, usage: '[--seconds N] [--only TEXT]' },
  fuzz: { run: fuzz, usage: '[--runs N] [--seed S]' },
  'import-kill': { run: importKill, usage: '[--runs N]' },
  history: { run: history, usage: '[--rows N] [--days N]' },
  sizing: { run: sizing, usage: '[--rows N] [--sales N]' },
  soak: { run: soak, usage: '[--log lmdb|postgres] [--minutes N] [--rows N]' },
  report: { run: report, usage: '[--size full|ci] [--out FILE] [--only NAME,...]' },
}

/** An option with a value has it in capitals or as a list of words. */
const OPTIONS = Object.fromEntries(
  Object.values(PROGRAMS).flatMap(({ usage }) =>
    Array.from(usage.matchAll(/--(\w+)( \w)?/g), ([, name, value]) => [
      name,
      { type: value === undefined ? 'boolean' : 'string' } as const,
    ]),
  ),
)

const EXIT_FAILED = 1
const EXIT_USAGE = 2

function readArguments(): { run: Program; options: Options } | undefined {
  try {
    const { positionals, values } = parseArgs({ allowPositionals: true, options: OPTIONS })
    const program = Object.entries(PROGRAMS).find(([name]) => name === positionals[0])?.[1]
    const options = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
    if (!isLogKind(options['log'] ?? 'lmdb')) return undefined
    return program && { run: program.run, options }
  } catch {
    return undefined
  }
}

const chosen = readArguments()
if (chosen) {
  try {
    process.exitCode = (await chosen.run(chosen.options)) ? 0 : EXIT_FAILED
  } finally {
    await stopTestChain()
    await removeTemporaryDirectories()
  }
} else {
  const lines = Object.entries(PROGRAMS).map(([name, { usage }]) => `  ${name.padEnd(14)} ${usage}`)
  print(`usage: npm run bench -- PROGRAM [OPTIONS]\n\n${lines.join('\n')}`)
  process.exitCode = EXIT_USAGE
}
