/**
 * `npm run proof`: runs every program at its full size, in a process of its own, and writes its file in
 * docs/benchmarks, which names the commit, proof.md with the verdicts of all, and the figures of docs/accuracy.md.
 * `--only NAME,...` runs the named programs only. `--former TREE` is the former release of perf, `--register FILE` a
 * published register, with which quality runs too. A program that fails is reported; the others still run. `--check`
 * runs none, and fails if a page is not what its program would write.
 */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { format, resolveConfig } from 'prettier'
import { git } from './commit.ts'
import { findStale, toFile, toSummary, withScores, type ProvedRun } from './proof-pages.ts'
import { describeMachine, print } from './report.ts'

const MAIN = fileURLToPath(import.meta.resolve('#root/dist/test/bench/main.js'))
const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const OUT = join(ROOT, 'docs/benchmarks')
const ACCURACY = join(ROOT, 'docs/accuracy.md')
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
  // A few hundred seeds already contain every change of a record.
  ['simulate', '--seeds 15000 --workers 2', 'no broken invariant'],
  // 600 in all, in half an hour, because each waits for leases and blocks.
  ['crash', '--runs 25 --commands 400', 'one payment, one transfer and the stored answer after every death'],
  // One sale.
  ['order', '', 'every write is synced first'],
  // The shortest time in which the latency is judged.
  ['fairness', '--seconds 6', 'no other client refused, p99 below 2 s'],
  // All bugs.
  ['mutants', '--workers 2', 'every mutant is caught'],
  // Takes some minutes.
  ['leak', '--requests 4000', 'no kind of request leaves memory behind'],
  // As many companies as the register has, because the memory of the import depends on them.
  ['sizing', '--rows 1000000 --sales 3000', 'no size is above its limit'],
]

export async function proof({ only, former, register, check }: Record<string, string>): Promise<boolean> {
  if (check !== undefined) return checkPages()
  const names = PROOF_SECTIONS.map(([name]) => name)
  const wanted = only?.split(',') ?? names
  if (!wanted.every((name) => names.includes(name))) throw new Error(`--only is a list of ${names.join(', ')}`)
  if (wanted.includes('perf') && former === undefined) throw new Error('--former names the tree of a former release')
  const commit = describeCommit()
  const style = { ...(await resolveConfig(join(OUT, 'perf.md'))), parser: 'markdown' }
  const write = async (name: string, text: string) => writeFile(join(OUT, `${name}.md`), await format(text, style))
  let failed = 0
  for (const section of PROOF_SECTIONS.filter(([name]) => wanted.includes(name))) {
    const run = await runSection(section, commit, { former, register })
    if (!run.isPassed) failed += 1
    await write(run.name, toFile(run))
    const written = names.filter((name) => existsSync(join(OUT, `${name}.md`)))
    const reads = written.map(async (name) => [name, await readFile(join(OUT, `${name}.md`), 'utf8')] as const)
    const files = new Map(await Promise.all(reads))
    await write('proof', toSummary(files))
    const scored = withScores(await readFile(ACCURACY, 'utf8'), files.get('quality') ?? '')
    await writeFile(ACCURACY, await format(scored, style))
  }
  print(`${failed} of ${wanted.length} programs failed`)
  return failed === 0
}

async function checkPages(): Promise<boolean> {
  const pages = readdirSync(OUT).filter((file) => file !== 'proof.md')
  const reads = pages.map(async (file) => [basename(file, '.md'), await readFile(join(OUT, file), 'utf8')] as const)
  const facts = PROOF_SECTIONS.map(
    ([name, options, target]) => [name, { command: commandOf([name, options]), target }] as const,
  )
  const stale = findStale(new Map(await Promise.all(reads)), new Map(facts))
  for (const each of stale) print(each)
  print(`${pages.length} pages, ${stale.length} faults`)
  return stale.length === 0
}

/** Ignores changes of the files that this program itself writes. */
function describeCommit(): string {
  const changes = git('status', '--porcelain', '--', '.', ':!docs/benchmarks')
  return git('rev-parse', '--short', 'HEAD') + (changes && ' with changes')
}

const commandOf = ([name, options]: readonly [string, string]) => `npm run bench -- ${name} ${options}`.trim()

async function runSection(
  section: ProofSection,
  commit: string,
  { former, register }: Record<'former' | 'register', string | undefined>,
): Promise<ProvedRun> {
  const [name, options, target] = section
  const args = [name, ...options.split(' ').filter(Boolean)]
  const runs = [name === 'perf' && former !== undefined ? [...args, '--former', resolve(former)] : args]
  // Without the folders, which differ between machines.
  let command = `\`${commandOf([name, options])}${name === 'perf' && former ? ` --former ${basename(former)}` : ''}\``
  if (name === 'quality' && register !== undefined) {
    runs.push([...args, '--dataset', resolve(register)])
    command += `, and with \`--dataset ${basename(register)}\``
  }
  print(command)
  const began = performance.now()
  const results: Awaited<ReturnType<typeof runProgram>>[] = []
  for (const each of runs) results.push(await runProgram(each))
  const isPassed = results.every((each) => each.isPassed)
  const output = results.map((each) => each.output).join('\n\n')
  const seconds = Math.round((performance.now() - began) / 1000)
  if (!isPassed) print(`${output}\n${name} failed`)
  const last = output.split('\n').at(-1) ?? ''
  const run = `${seconds} s, ${describeMachine()}`
  return {
    name,
    facts: { command, commit, run, target },
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
  // After a table, stderr adds nothing to what the program has missed.
  return { isPassed, output: (isPassed || /^\|/m.test(stdout) ? stdout : stdout + stderr).trim() }
}

/** The whole output if it contains a table or the program has failed. Otherwise nothing. */
function toDetails(isPassed: boolean, output: string): string {
  if (/^\|/m.test(output)) return output
  return isPassed ? '' : `\`\`\`text\n${output}\n\`\`\``
}
