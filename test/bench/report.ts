/**
 * `bench report [--size full|ci] [--out FILE] [--only NAME,...]`: runs every programme in a process of its own and writes
 * its section of docs/benchmarks.md, which nothing else writes. A full run of `perf` also writes the table of capacity in
 * docs/operations.md. A programme that fails is reported; the others still run.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { capacityTable, withCapacityTable } from './capacity-table.ts'
import { describeMachine } from './machine.ts'
import { withRun, type ReportedRun } from './report-file.ts'
import { REPORT_SECTIONS, type ReportSection, type ReportSize } from './report-sections.ts'

const MAIN = fileURLToPath(import.meta.resolve('#root/dist/test/bench/main.js'))
const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const OUT_DEFAULT = join(ROOT, 'docs/benchmarks.md')
const OPERATIONS = join(ROOT, 'docs/operations.md')

export async function report({ size = 'full', out = OUT_DEFAULT, only }: Record<string, string>): Promise<boolean> {
  if (size !== 'full' && size !== 'ci') throw new Error('--size is full or ci')
  const chosen = chooseSections(only)
  const commit = describeCommit()
  const results: ReportedRun[] = []
  for (const section of chosen) {
    const run = await runSection(section, size, commit)
    results.push(run)
    await writeRun(out, run)
    if (section.name === 'perf' && size === 'full') await writeCapacity(run)
  }
  process.stdout.write(`${results.filter(({ isPassed }) => !isPassed).length} of ${results.length} programmes failed\n`)
  return results.every(({ isPassed }) => isPassed)
}

function chooseSections(only: string | undefined): readonly ReportSection[] {
  if (only === undefined) return REPORT_SECTIONS
  return only.split(',').map((wanted) => {
    const section = REPORT_SECTIONS.find(({ name }) => name === wanted)
    if (!section) throw new Error(`--only is a list of ${REPORT_SECTIONS.map(({ name }) => name).join(', ')}`)
    return section
  })
}

/** Ignores changes of the two documents that the report itself makes. */
function describeCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const changes = git('status', '--porcelain', '--', '.', ':!docs/benchmarks.md', ':!docs/operations.md')
  return git('rev-parse', '--short', 'HEAD') + (changes && ' with changes')
}

async function runSection(section: ReportSection, size: ReportSize, commit: string): Promise<ReportedRun> {
  const { name, programme, target } = section
  const args = [programme, ...section.arguments[size].split(' ').filter(Boolean)]
  const command = `npm run bench -- ${args.join(' ')}`
  process.stdout.write(`${command}\n`)
  const began = performance.now()
  const { isPassed, output } = await runProgramme(args)
  const seconds = Math.round((performance.now() - began) / 1000)
  if (!isPassed) process.stdout.write(`${output}\n${name} failed\n`)
  const last = output.split('\n').at(-1) ?? ''
  return {
    name,
    facts: {
      command: `\`${command}\``,
      run: `size ${size}, ${seconds} s, commit ${commit}, ${describeMachine()}`,
      target,
    },
    measured: last.startsWith('|') ? 'see below' : last,
    isPassed,
    details: toDetails(isPassed, output),
  }
}

async function runProgramme(args: string[]): Promise<{ isPassed: boolean; output: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = [[] as Buffer[], [] as Buffer[]]
  child.stdout.on('data', (chunk: Buffer) => void stdout.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => void stderr.push(chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  const isPassed = code === 0
  const shown = Buffer.concat(isPassed ? stdout : [...stdout, ...stderr])
  return { isPassed, output: shown.toString().trim() }
}

/** Everything, if it has a table; otherwise nothing, unless the programme has failed. */
function toDetails(isPassed: boolean, output: string): string {
  if (/^\|/m.test(output)) return output
  return isPassed ? '' : `\`\`\`text\n${output}\n\`\`\``
}

/** The table in docs/operations.md, if the run has all its rows. */
async function writeCapacity({ details }: ReportedRun): Promise<void> {
  const table = capacityTable(details)
  if (table !== undefined) await writeFile(OPERATIONS, withCapacityTable(await readFile(OPERATIONS, 'utf8'), table))
}

async function writeRun(out: string, run: ReportedRun): Promise<void> {
  const earlier = existsSync(out) ? await readFile(out, 'utf8') : ''
  const names = REPORT_SECTIONS.map(({ name }) => name)
  const style = { ...(await resolveConfig(OUT_DEFAULT)), parser: 'markdown' }
  await writeFile(out, await format(withRun(earlier, run, names), style))
}
