/** What `npm run proof` writes: a file for each program, one with all verdicts, and the figures of docs/accuracy.md. */
import { accuracyTargets } from './quality/tally.ts'
import { markdown } from './report.ts'
import { describeLimit, PERF_TARGETS } from './targets.ts'

/** Which parts of each program are real. */
const PARTS = `Which parts are real, and which are fakes:

- **perf**, **sizing** and **quality**: see [benchmarks](../benchmarks.md#a-sale-a-search-and-an-import).
- **crash**: the commands \`serve\`, \`import\` and \`client\` as processes, with the disk, PostgreSQL, and a local anvil with a test
  token. The facilitator runs in the process of the service. The service of the buyers is in the process of the program.
- **order**: the command \`serve\` under strace.
- **simulate**: the executor and the reconciler are real. Disk, chain, facilitator, network and clock are models.
- **fairness**: as perf, with a node that answers after 200 ms. The attackers are another
  process. Each client has a loopback address of its own.
- **mutants**: the source files with one bug at a time, and the programs and tests of this project that must find it.
- **leak**: as perf.`

export interface ProvedRun {
  name: string
  /** The command of the run, and its commit, time and machine. */
  facts: Record<'command' | 'commit' | 'run' | 'target', string>
  measured: string
  isPassed: boolean
  /** Markdown below the facts; empty if `measured` says everything. */
  details: string
}

export function toFile({ name, facts, measured, isPassed, details }: ProvedRun): string {
  const all = Object.entries({ ...facts, measured, verdict: isPassed ? 'met' : 'MISSED' })
  const list = all.map(([fact, value]) => `- ${fact}: ${value}`).join('\n')
  // A level below that of the output, so that a file has one heading of level one.
  return `# ${name}\n\n${list}\n\n${details.replace(/^#+ /gm, '#$&')}`
}

/** @param files the files of the programs, by name */
export function toSummary(files: ReadonlyMap<string, string>): string {
  const lines = [...files].map(([name, text]) =>
    [`[${name}](${name}.md)`].concat(['measured', 'verdict', 'commit'].map((fact) => factOf(text, fact))),
  )
  return `# Proof

Written by \`npm run proof\`. Do not edit. \`npm run proof -- --only NAME,...\` runs the named programs only.

${PARTS}

${markdown(['program', 'measured', 'verdict', 'commit'], lines)}
`
}

function factOf(file: string, fact: string): string {
  return new RegExp(`^- ${fact}: (.*)$`, 'm').exec(file)?.[1] ?? '-'
}

/**
 * What the pages say that the programs of today do not.
 * @param files the pages by name
 * @param facts of each program of the proof, by name: its command and its target
 */
export function findStale(
  files: ReadonlyMap<string, string>,
  facts: ReadonlyMap<string, { command: string; target: string }>,
): string[] {
  const missing = [...facts.keys()].filter((name) => !files.has(name)).map((name) => `${name}.md is missing`)
  const foreign = [...files.keys()].filter((name) => !facts.has(name)).map((name) => `${name}.md has no program`)
  const begins = ([name, text]: [string, string]) =>
    factOf(text, 'command').startsWith(`\`${facts.get(name)?.command ?? ''}`)
  const otherCommands = [...files].filter((file) => !begins(file)).map(([name]) => `${name}.md is of another command`)
  const otherTargets = [...files]
    .filter(([name, text]) => facts.has(name) && factOf(text, 'target') !== facts.get(name)?.target)
    .map(([name]) => `${name}.md has another target`)
  const missed = [...files]
    .filter(([, text]) => factOf(text, 'verdict') !== 'met')
    .map(([name]) => `${name}.md: missed`)
  const targets = Object.values(PERF_TARGETS).map(({ row, limit }) => `${row}: ${limit ? describeLimit(limit) : '-'}`)
  const shown = (files.get('perf') ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| bench perf'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, , row, , , , , , target]) => `${row}: ${target}`)
  const quality = files.get('quality')
  const accuracy = quality === undefined ? [] : accuracyTargets([]).map(({ target }) => target)
  return [
    ...missing,
    ...foreign,
    ...otherCommands,
    ...otherTargets,
    ...missed,
    ...accuracy.filter((target) => !quality?.includes(`| ${target} `)).map((target) => `quality.md lacks: ${target}`),
    ...shown.filter((row) => !targets.includes(row)).map((row) => `perf.md has another row or target: ${row}`),
    ...targets.filter((row) => !shown.includes(row)).map((row) => `perf.md lacks a row: ${row}`),
  ]
}

const FIGURES_BEGIN = '<!-- figures: written by `npm run proof` -->'
const FIGURES_END = '<!-- end of figures -->'

/** @param quality the file of `quality`. @returns docs/accuracy.md with its figures */
export function withScores(accuracy: string, quality: string): string {
  const [before, rest] = accuracy.split(FIGURES_BEGIN)
  const after = rest?.split(FIGURES_END)[1]
  if (before === undefined || after === undefined) throw new Error('docs/accuracy.md has no figures')
  return `${before}${FIGURES_BEGIN}\n\n${scores(quality)}\n\n${FIGURES_END}${after}`
}

/** Below it, few first candidates are right. */
const SCORE_SHOWN_MIN = 500

/** The shares by score of the last run in the file, which is that of the published register if there is one. */
function scores(quality: string): string {
  const [register = '', sampled = '', ...run] = quality.slice(quality.lastIndexOf('\n- Register: ') + 1).split('\n')
  const begin = run.findIndex((line) => line.startsWith('| score of the first candidate'))
  const table = run.slice(begin, run.indexOf('', begin)).map((line) => line.split('|').slice(1, -1))
  const [headings = [], , ...lines] = table.map((cells) => cells.map((cell) => cell.trim()))
  const shown = lines.filter(([score = '']) => Number.parseInt(score, 10) >= SCORE_SHOWN_MIN)
  return [markdown(headings, shown), '', register, sampled].join('\n')
}
