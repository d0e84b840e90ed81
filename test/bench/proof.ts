/**
 * `npm run proof`: runs every program at its full size, in a process of its own, and writes its file in
 * docs/benchmarks, which names the commit, proof.md with the verdicts of all, and the figures of docs/benchmarks.md.
 * `--only NAME,...` runs the named programs only. `--former TREE` is the former release of perf. A program that fails
 * is reported; the others still run. `--check` runs none, and fails if a page is not what its program would write.
 */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { format, resolveConfig } from 'prettier'
import { git } from './commit.ts'
import { findStale, toFile, toSummary, withFigures, type ProvedRun } from './proof-pages.ts'
import { describeMachine, print } from './report.ts'

const MAIN = fileURLToPath(import.meta.resolve('#root/dist/test/bench/main.js'))
const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const OUT = join(ROOT, 'docs/benchmarks')
/** Shows some figures of the files. */
const PAGE = join(ROOT, 'docs/benchmarks.md')
/** Longer than any program takes on a slow machine. */
const PROGRAM_MS_MAX = 3_600_000
const LIMITS = { maxBuffer: 2 ** 26, timeout: PROGRAM_MS_MAX }

/** The arguments, and the condition for the verdict "met". */
type ProofSection = readonly [name: string, options: string, target: string]

/** In the order of the summary, with the reason for each size. CI runs shorter ones (`.ci/run`). */
const PROOF_SECTIONS: readonly ProofSection[] = [
  // Its sizes are in perf.ts.
  ['perf', '--size full', 'every row below meets its target'],
  // Fewer than 20,000 questions, so that one wrong match misses the target of one in 20,000.
  ['quality', '--rows 100000 --samples 1000', 'every accuracy target below is met'],
  // Takes some minutes. A few hundred seeds already contain every change of a record.
  ['simulate', '--seeds 15000 --workers 2', 'no broken invariant'],
  // Takes ten minutes.
  ['crash', '--runs 40', 'one payment, one transfer and the stored answer after every death'],
  // One sale.
  ['order', '', 'every write is synced first'],
  // The shortest time in which the latency is judged.
  ['fairness', '--seconds 6', 'no other client refused, p99 below 2 s'],
  // All bugs.
  ['mutants', '--workers 2', 'every mutant is caught'],
  // Takes a minute.
  ['leak', '--requests 4000', 'no kind of request leaves memory behind'],
  // As many companies as the register has, because the memory of the import depends on them.
  ['sizing', '--rows 1000000 --sales 3000', 'no size is above its limit'],
]

export async function proof({ only, former, check }: Record<string, string>): Promise<boolean> {
  const names = PROOF_SECTIONS.map(([name]) => name)
  if (check !== undefined) return checkPages(names)
  const wanted = only?.split(',') ?? names
  if (!wanted.every((name) => names.includes(name))) throw new Error(`--only is a list of ${names.join(', ')}`)
  if (wanted.includes('perf') && former === undefined) throw new Error('--former names the tree of a former release')
  const commit = describeCommit()
  const style = { ...(await resolveConfig(PAGE)), parser: 'markdown' }
  const write = async (name: string, text: string) => writeFile(join(OUT, `${name}.md`), await format(text, style))
  let failed = 0
  for (const section of PROOF_SECTIONS.filter(([name]) => wanted.includes(name))) {
    const run = await runSection(section, commit, section[0] === 'perf' ? former : undefined)
    if (!run.isPassed) failed += 1
    await write(run.name, toFile(run))
    const written = names.filter((name) => existsSync(join(OUT, `${name}.md`)))
    const reads = written.map(async (name) => [name, await readFile(join(OUT, `${name}.md`), 'utf8')] as const)
    const files = new Map(await Promise.all(reads))
    await write('proof', toSummary(files))
    await writeFile(PAGE, await format(withFigures(await readFile(PAGE, 'utf8'), files), style))
  }
  print(`${failed} of ${wanted.length} programs failed`)
  return failed === 0
}

async function checkPages(names: readonly string[]): Promise<boolean> {
  const pages = readdirSync(OUT).filter((file) => file !== 'proof.md')
  const reads = pages.map(async (file) => [basename(file, '.md'), await readFile(join(OUT, file), 'utf8')] as const)
  const stale = findStale(new Map(await Promise.all(reads)), names)
  for (const each of stale) print(each)
  print(`${pages.length} pages, ${stale.length} faults`)
  return stale.length === 0
}

/** Ignores changes of the files that this program itself writes. */
function describeCommit(): string {
  const changes = git('status', '--porcelain', '--', '.', ':!docs/benchmarks')
  return git('rev-parse', '--short', 'HEAD') + (changes && ' with changes')
}

async function runSection(
  [name, options, target]: ProofSection,
  commit: string,
  former: string | undefined,
): Promise<ProvedRun> {
  const args = [name, ...options.split(' ').filter(Boolean)]
  // Without the folder, which differs between machines.
  const release = former === undefined ? '' : ` --former ${basename(former)}`
  const command = `npm run bench -- ${args.join(' ')}${release}`
  print(command)
  const began = performance.now()
  const { isPassed, output } = await runProgram(former === undefined ? args : [...args, '--former', resolve(former)])
  const seconds = Math.round((performance.now() - began) / 1000)
  if (!isPassed) print(`${output}\n${name} failed`)
  const last = output.split('\n').at(-1) ?? ''
  const run = `${seconds} s, ${describeMachine()}`
  return {
    name,
    facts: { command: `\`${command}\``, commit, run, target },
    measured: last.startsWith('|') ? 'see below' : last,
    isPassed,
    details: toDetails(isPassed, output),
  }
}

async function runProgram(args: string[]): Promise<{ isPassed: boolean; output: string }> {
  const { isPassed, stdout, stderr } = await promisify(execFile)(process.execPath, [MAIN, ...args], LIMITS).then(
    (output) => ({ isPassed: true, ...output }),
    (failure: { stdout: string; stderr: string }) => ({ isPassed: false, ...failure }),
  )
  return { isPassed, output: (isPassed ? stdout : stdout + stderr).trim() }
}

/** The whole output if it contains a table or the program has failed. Otherwise nothing. */
function toDetails(isPassed: boolean, output: string): string {
  if (/^\|/m.test(output)) return output
  return isPassed ? '' : `\`\`\`text\n${output}\n\`\`\``
}
