/** The files of `npm run proof`: one for each program, and one with the verdicts of all. */
import { markdown } from './markdown.ts'

/** What the figures are of. */
const PARTS = `What is real and what is fake:

- **perf**, rows over HTTP, and **sizing**: the service is the command \`serve\` in a process of its own, with the
  options of Node.js that \`npm start\` gives it, its log, its metrics, real signatures and receipts, and LMDB or
  PostgreSQL on the disk of this machine. The facilitator and the chain node are fakes in another process, which the
  service calls over HTTP on the loopback interface. They answer at once, keep transfers and blocks, and check no
  signature. \`@x402/express\` is the published package with the same facilitator. It runs with the defaults of Node.js,
  checks no signature, asks no chain and writes nothing. CPU is that of the server process alone; PostgreSQL is not
  counted. The rows of receipts call the code of the service without HTTP.
- **perf**, rows of search, resolve and import, and **quality**: the code of the service, without HTTP, on
  registers that are made up. The other engines are real.
- **reconcile**: the command \`client reconcile\` as a process, with the service, facilitator and node of perf. The register is
  made up.
- **crash**: the commands \`serve\`, \`import\` and \`client\` as processes, with the disk, PostgreSQL, and a local anvil with a test
  token. The facilitator runs in the process of the service. The service of the buyers is in the process of the program.
- **order**: the command \`serve\` under strace.
- **history**: the real journal of a generated register, of which 0.4 % changes each day.
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
