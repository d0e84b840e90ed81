/**
 * `bench report [--size full|ci] [--out FOLDER] [--only NAME,...]`: runs every program in a process of its own, and
 * writes its file in docs/benchmarks, which nothing else writes, and the tables in docs/benchmarks.md and
 * docs/operations.md. A program that fails is reported; the others still run.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { format, resolveConfig } from 'prettier'
import { describeMachine } from './machine.ts'
import { print } from './print.ts'
import { REPORT_SECTIONS, type ReportSection } from './report-sections.ts'
import { capacityTable, engineTable, figureTable, verdictTable, withTable } from './report-tables.ts'

const MAIN = fileURLToPath(import.meta.resolve('#root/dist/test/bench/main.js'))
const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const OUT_DEFAULT = join(ROOT, 'docs/benchmarks')
const BENCHMARKS = join(ROOT, 'docs/benchmarks.md')
const OPERATIONS = join(ROOT, 'docs/operations.md')
const OUTPUT = { maxBuffer: 2 ** 26 }

export async function report({ size = 'full', out = OUT_DEFAULT, only }: Record<string, string>): Promise<boolean> {
  if (size !== 'full' && size !== 'ci') throw new Error('--size is full or ci')
  const names = REPORT_SECTIONS.map(([name]) => name)
  const wanted = only?.split(',') ?? names
  if (!wanted.every((name) => names.includes(name))) throw new Error(`--only is a list of ${names.join(', ')}`)
  const commit = describeCommit()
  await mkdir(out, { recursive: true })
  let failed = 0
  for (const section of REPORT_SECTIONS.filter(([name]) => wanted.includes(name))) {
    const { isPassed, text } = await runSection(section, size, commit)
    if (!isPassed) failed += 1
    await writeMarkdown(join(out, `${section[0]}.md`), text)
  }
  if (out === OUT_DEFAULT) await writeTables(names)
  print(`${failed} of ${wanted.length} programs failed`)
  return failed === 0
}

/** Every table is made from the files of all programs, of this run and of earlier ones. */
async function writeTables(names: readonly string[]): Promise<void> {
  const sections = new Map<string, string>()
  for (const name of names) {
    const path = join(OUT_DEFAULT, `${name}.md`)
    if (existsSync(path)) sections.set(name, await readFile(path, 'utf8'))
  }
  const perf = sections.get('perf') ?? ''
  const tables = {
    verdicts: verdictTable(sections),
    figures: figureTable(perf),
    engines: engineTable(sections.get('quality') ?? ''),
  }
  let page = await readFile(BENCHMARKS, 'utf8')
  for (const [name, table] of Object.entries(tables)) page = withTable(page, name, table)
  await writeMarkdown(BENCHMARKS, page)
  await writeMarkdown(OPERATIONS, withTable(await readFile(OPERATIONS, 'utf8'), 'capacity', capacityTable(perf)))
}

async function writeMarkdown(path: string, text: string): Promise<void> {
  await writeFile(path, await format(text, { ...(await resolveConfig(BENCHMARKS)), parser: 'markdown' }))
}

/** Ignores changes of the documents that the report itself writes. */
function describeCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const changes = git(
    'status',
    '--porcelain',
    '--',
    '.',
    ':!docs/benchmarks',
    ':!docs/benchmarks.md',
    ':!docs/operations.md',
  )
  return git('rev-parse', '--short', 'HEAD') + (changes && ' with changes')
}

async function runSection(
  [name, full, ci, target]: ReportSection,
  size: 'full' | 'ci',
  commit: string,
): Promise<{ isPassed: boolean; text: string }> {
  const args = [name.replace(/-postgres$/, ''), ...(size === 'full' ? full : ci).split(' ').filter(Boolean)]
  const command = `npm run bench -- ${args.join(' ')}`
  print(command)
  const began = performance.now()
  const { isPassed, output } = await runProgram(args)
  const seconds = Math.round((performance.now() - began) / 1000)
  if (!isPassed) print(`${output}\n${name} failed`)
  const last = output.split('\n').at(-1) ?? ''
  const facts = {
    command: `\`${command}\``,
    run: `size ${size}, ${seconds} s, commit ${commit}, ${describeMachine()}`,
    target,
    measured: last.startsWith('|') ? 'see below' : last,
    verdict: isPassed ? 'met' : 'MISSED',
  }
  const list = Object.entries(facts).map(([fact, value]) => `- ${fact}: ${value}`)
  // One level below those of the output, so that the file has one heading of level one.
  const details = toDetails(isPassed, output).replace(/^#+ /gm, '#$&')
  return { isPassed, text: `# ${name}\n\nWritten by \`npm run bench -- report\`.\n\n${list.join('\n')}\n\n${details}` }
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
