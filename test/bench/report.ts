/**
 * `bench report [--size full|ci] [--out FILE] [--only NAME,...]`: runs every program in a process of its own and writes
 * its section of docs/benchmarks.md, which nothing else writes, and the table of capacity in docs/operations.md. A program that fails is reported; the others still run.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { withCapacityTable } from './capacity-table.ts'
import { describeMachine } from './machine.ts'
import { withRun, type ReportedRun } from './report-file.ts'
import { REPORT_SECTIONS, type ReportSection } from './report-sections.ts'

const MAIN = fileURLToPath(import.meta.resolve('#root/dist/test/bench/main.js'))
const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const OUT_DEFAULT = join(ROOT, 'docs/benchmarks.md')
const OPERATIONS = join(ROOT, 'docs/operations.md')

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
  process.stdout.write(`${failed} of ${wanted.length} programs failed\n`)
  return failed === 0
}

/** Ignores changes of the document that the report itself makes. */
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
  process.stdout.write(`${command}\n`)
  const began = performance.now()
  const { isPassed, output } = await runProgram(args)
  const seconds = Math.round((performance.now() - began) / 1000)
  if (!isPassed) process.stdout.write(`${output}\n${name} failed\n`)
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
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = [[] as Buffer[], [] as Buffer[]]
  child.stdout.on('data', (chunk: Buffer) => void stdout.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => void stderr.push(chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  const isPassed = code === 0
  const shown = Buffer.concat(isPassed ? stdout : [...stdout, ...stderr])
  return { isPassed, output: shown.toString().trim() }
}

/** The whole output if it contains a table or the program has failed. Otherwise nothing. */
function toDetails(isPassed: boolean, output: string): string {
  if (/^\|/m.test(output)) return output
  return isPassed ? '' : `\`\`\`text\n${output}\n\`\`\``
}
