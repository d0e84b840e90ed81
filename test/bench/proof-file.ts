/** The files of `npm run proof`: one for each program, and one with the verdicts of all. */
import { markdown } from './report.ts'

/** What the figures are of. */
const PARTS = `What is real and what is fake:

- **perf**, **sizing** and **quality**: see [benchmarks](../benchmarks.md#a-sale-a-search-and-an-import-beside-others).
- **crash**: the commands \`serve\`, \`import\` and \`client\` as processes, with the disk, PostgreSQL, and a local anvil with a test
  token. The facilitator runs in the process of the service. The service of the buyers is in the process of the program.
- **matrix**: the command \`serve\` as a process, two nodes with faults before a local anvil, and facilitators of x402.
- **order**: the command \`serve\` under strace.
- **simulate**: the executor and the reconciler are real. Disk, chain, facilitator, network and clock are models.
- **fairness**: as perf, with a node that answers after 200 ms. Each client has a loopback address of its own.
- **mutants**: the compiled code with one bug at a time, and the programs and tests of this project that must find it.
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
