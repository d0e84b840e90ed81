/** The command `bench`: runs one benchmark or reliability check, or all of them for the proof. */
import { parseArgs } from 'node:util'
import { stopTestChain } from '../support/chain.ts'
import { removeTemporaryDirectories } from '../support/temporary-directory.ts'
import { crash } from './crash.ts'
import { fairness } from './fairness.ts'
import { leak } from './leak.ts'
import { mutants } from './mutants.ts'
import { order } from './order.ts'
import { perf } from './perf.ts'
import { proof } from './proof.ts'
import { quality } from './quality.ts'
import { simulate } from './simulate.ts'
import { sizing } from './sizing.ts'
import { print } from './report.ts'

/** Each prints what it found and resolves with whether that is as it must be. */
type Program = (options: Record<string, string>) => Promise<boolean>

const PROGRAMS: Record<string, { run: Program; usage: string }> = {
  perf: { run: perf, usage: '[--size full|ci] [--only NAME] [--former TREE]' },
  quality: {
    run: quality,
    usage: '[--dataset FILE | --rows N] [--samples N] [--half tuning|report] [--debug FILE]',
  },
  simulate: { run: simulate, usage: '[--seeds N] [--from SEED] [--workers N] [--trace]' },
  crash: { run: crash, usage: '[--runs N] [--commands N] [--only TEXT] [--call NAME] [--seed S]' },
  order: { run: order, usage: '' },
  mutants: { run: mutants, usage: '[--workers N] [--only TEXT] [--sample N]' },
  fairness: { run: fairness, usage: '[--seconds N] [--only TEXT]' },
  leak: { run: leak, usage: '[--requests N] [--only TEXT]' },
  sizing: { run: sizing, usage: '[--rows N] [--sales N]' },
  proof: { run: proof, usage: '--former TREE [--register FILE] [--only NAME,...] | --check' },
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

function readArguments(): { run: Program; options: Record<string, string> } | undefined {
  try {
    const { positionals, values } = parseArgs({ allowPositionals: true, options: OPTIONS })
    const program = Object.entries(PROGRAMS).find(([name]) => name === positionals[0])?.[1]
    const options = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
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
