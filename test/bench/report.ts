/**
 * `bench report [--size full|ci] [--out FILE] [--only NAME,...]`: runs every programme in a process of its own and writes
 * docs/benchmarks.md, which nothing else writes. A programme that fails is reported as failed; the others still run.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { describeMachine } from './machine.ts'
import { markdown } from './markdown.ts'

const MAIN = fileURLToPath(import.meta.resolve('#root/dist/test/bench/main.js'))
const OUT_DEFAULT = join(dirname(fileURLToPath(import.meta.resolve('#root/package.json'))), 'docs/benchmarks.md')

type Size = 'full' | 'ci'

interface Section {
  name: string
  /** The heading of its details; its name by default. */
  title?: string
  /** The condition for the verdict "met". */
  target: string
  arguments: Record<Size, string>
  /** Whether its output is Markdown and is shown whole. Its last line is always shown as the result. */
  isMarkdown?: boolean
}

const SECTIONS: readonly Section[] = [
  {
    name: 'perf',
    target: 'every row below meets its target',
    arguments: { full: '--size full', ci: '--size ci' },
    isMarkdown: true,
  },
  {
    name: 'quality',
    target: 'every accuracy target below is met',
    arguments: { full: '--rows 100000 --samples 1000 --peers', ci: '--rows 3000 --samples 200 --peers' },
    isMarkdown: true,
  },
  {
    name: 'slowest',
    target: 'no query of any class takes more than 25 ms',
    arguments: { full: '--minutes 10 --rows 1000000', ci: '--minutes 0.05 --rows 3000' },
    isMarkdown: true,
  },
  {
    name: 'simulate',
    target: 'no broken promise',
    arguments: { full: '--seeds 50000 --workers 2', ci: '--seeds 200 --workers 2' },
  },
  {
    name: 'simulate',
    target: 'no broken promise',
    arguments: { full: '--seeds 20000 --workers 2 --log postgres', ci: '--seeds 200 --workers 2 --log postgres' },
  },
  {
    name: 'kill',
    target: 'every kill ends in one transfer',
    arguments: { full: '--runs 100', ci: '--runs 31' },
    isMarkdown: true,
  },
  {
    name: 'kill',
    title: 'kill, response log in PostgreSQL',
    target: 'every kill ends in one transfer',
    arguments: { full: '--runs 100 --log postgres', ci: '--runs 31 --log postgres' },
    isMarkdown: true,
  },
  {
    name: 'buyer-kill',
    target: 'no second signature, no lost answer',
    arguments: { full: '--runs 1000', ci: '--runs 15' },
    isMarkdown: true,
  },
  {
    name: 'failover',
    target: 'no acknowledged record lost, no payment charged twice',
    arguments: { full: '--runs 100', ci: '--runs 3' },
    isMarkdown: true,
  },
  { name: 'race', target: 'no fault', arguments: { full: '--seconds 30', ci: '--seconds 2' } },
  {
    name: 'race',
    target: 'no fault',
    arguments: { full: '--seconds 30 --log postgres', ci: '--seconds 4 --log postgres' },
  },
  { name: 'order', target: 'every write is synced first', arguments: { full: '', ci: '' } },
  { name: 'mutants', target: 'every mutant is caught', arguments: { full: '', ci: '' } },
  { name: 'fuzz', target: 'no fault', arguments: { full: '--runs 50000', ci: '--runs 500' } },
  {
    name: 'import-kill',
    target: 'a whole snapshot after every kill',
    arguments: { full: '--runs 20', ci: '--runs 2' },
  },
  {
    name: 'sizing',
    target: 'every size is measured',
    arguments: { full: '', ci: '--rows 3000 --sales 1000' },
    isMarkdown: true,
  },
  {
    name: 'soak',
    target: 'no fault, no growing heap; beside pipelining clients p99 below 1 s and 400 MiB',
    arguments: { full: '--minutes 3', ci: '--minutes 0.05 --rows 3000 --connections 50' },
    isMarkdown: true,
  },
]

interface Result extends Section {
  command: string
  isPassed: boolean
  seconds: number
  output: string
}

export async function report({ size = 'full', out = OUT_DEFAULT, only }: Record<string, string>): Promise<boolean> {
  if (size !== 'full' && size !== 'ci') throw new Error('--size is full or ci')
  const results: Result[] = []
  const chosen = SECTIONS.filter(({ name }) => only === undefined || only.split(',').includes(name))
  for (const section of chosen) results.push(await runSection(section, size))
  const text = await format(toMarkdown(results, size), { ...(await resolveConfig(OUT_DEFAULT)), parser: 'markdown' })
  await writeFile(out, text)
  process.stdout.write(`${results.filter(({ isPassed }) => !isPassed).length} of ${results.length} programmes failed\n`)
  return results.every(({ isPassed }) => isPassed)
}

async function runSection(section: Section, size: Size): Promise<Result> {
  const args = [section.name, ...section.arguments[size].split(' ').filter(Boolean)]
  const command = `npm run bench -- ${args.join(' ')}`
  process.stdout.write(`${command}\n`)
  const began = performance.now()
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = [[] as Buffer[], [] as Buffer[]]
  child.stdout.on('data', (chunk: Buffer) => void stdout.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => void stderr.push(chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  const isPassed = code === 0
  const output = Buffer.concat(isPassed ? stdout : [...stdout, ...stderr])
    .toString()
    .trim()
  const result = { ...section, command, isPassed, output }
  if (!result.isPassed) process.stdout.write(`${result.output}\n${section.name} failed\n`)
  return { ...result, seconds: Math.round((performance.now() - began) / 1000) }
}

function toMarkdown(results: readonly Result[], size: Size): string {
  const lines = results.map(({ command, target, isPassed, seconds, output }) => {
    const last = output.split('\n').at(-1) ?? ''
    const measured = last.startsWith('|') ? 'see below' : last
    return [`\`${command}\``, target, measured, isPassed ? 'met' : 'MISSED', String(seconds)]
  })
  const details = results.filter(({ isMarkdown, isPassed }) => isMarkdown || !isPassed)
  return `# Benchmarks

Written by \`npm run bench -- report\`, size ${size}. Do not edit.

Machine: ${describeMachine()}.

${markdown(['command', 'target', 'measured', 'verdict', 'seconds'], lines)}

${details.map(toDetails).join('\n\n')}
`
}

function toDetails({ name, title = name, isMarkdown, output }: Result): string {
  // Headings of a programme's own output come below that of its section.
  const text = isMarkdown ? output.replace(/^(#+) /gm, '##$1 ') : `\`\`\`text\n${output}\n\`\`\``
  return `## ${title}\n\n${text}`
}
