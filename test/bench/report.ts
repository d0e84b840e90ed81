/**
 * `bench report [--size full|ci] [--out FILE] [--only NAME,...]`: runs every program in a process of its own and writes
 * its section of docs/benchmarks.md, which nothing else writes, and the table of capacity in docs/operations.md. A
 * program that fails is reported; the others still run.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { format, resolveConfig } from 'prettier'
import { withCapacityTable } from './capacity-table.ts'
import { describeMachine } from './machine.ts'
import { print } from './print.ts'
import { withRun, type ReportedRun } from './report-file.ts'
import { REPORT_SECTIONS, type ReportSection } from './report-sections.ts'

const MAIN = fileURLToPath(import.meta.resolve('#root/dist/test/bench/main.js'))
const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const OUT_DEFAULT = join(ROOT, 'docs/benchmarks.md')
const OPERATIONS = join(ROOT, 'docs/operations.md')
const OUTPUT = { maxBuffer: 2 ** 26 }

export async function report({ size = 'full', out = OUT_DEFAULT, only }: Record<string, string>): Promise<boolean> {
  if (size !== 'full' && size !== 'ci') throw new Error('--size is full or ci')
  const names = REPORT_SECTIONS.map(([name]) => name)
  const wanted = only?.split(',') ?? names
  if (!wanted.every((name) => names.includes(name))) throw new Error(`--only is a list of ${names.join(', ')}`)
  const commit = describeCommit()
  const style = { ...(await resolveConfig(OUT_DEFAULT)), parser: 'markdown' }
  let failed = 0
  for (const section of REPORT_SECTIONS.filter(([name]) => wanted.includes(name))) {
    const run = await runSection(section, size, commit)
    if (!run.isPassed) failed += 1
    const earlier = existsSync(out) ? await readFile(out, 'utf8') : ''
    await writeFile(out, await format(withRun(earlier, run, names), style))
  }
  if (out === OUT_DEFAULT) {
    const operations = withCapacityTable(await readFile(OPERATIONS, 'utf8'), await readFile(out, 'utf8'))
    await writeFile(OPERATIONS, await format(operations, style))
  }
  print(`${failed} of ${wanted.length} programs failed`)
  return failed === 0
}

/** Ignores changes of the document that the report itself writes. */
function describeCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const changes = git('status', '--porcelain', '--', '.', ':!docs/benchmarks.md', ':!docs/operations.md')
  return git('rev-parse', '--short', 'HEAD') + (changes && ' with changes')
}

async function runSection(
  [name, full, ci, target]: ReportSection,
  size: 'full' | 'ci',
  commit: string,
): Promise<ReportedRun> {
  const args = [name.replace(/-postgres$/, ''), ...(size === 'full' ? full : ci).split(' ').filter(Boolean)]
  const command = `npm run bench -- ${args.join(' ')}`
  print(command)
  const began = performance.now()
  const { isPassed, output } = await runProgram(args)
  const seconds = Math.round((performance.now() - began) / 1000)
  if (!isPassed) print(`${output}\n${name} failed`)
  const last = output.split('\n').at(-1) ?? ''
  const run = `size ${size}, ${seconds} s, commit ${commit}, ${describeMachine()}`
  return {
    name,
    facts: { command: `\`${command}\``, run, target },
    measured: last.startsWith('|') ? 'see below' : last,
    isPassed,
    details: toDetails(isPassed, output),
  }
}

async function runProgram(args: string[]): Promise<{ isPassed: boolean; output: string }> {
  const { isPassed, stdout, stderr } = await promisify(execFile)(process.execPath, [MAIN, ...args], OUTPUT).then(
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
