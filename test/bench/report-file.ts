/** The text of docs/benchmarks.md: one section for each run, and a table of their verdicts. */
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
- **perf**, rows of search, resolve, import and start, **quality** and **slowest**: the code of the service, without HTTP except
  for start, on registers that are made up. The other engines are real.
- **reconcile**: the command \`client reconcile\` as a process, with the service, facilitator and node of perf. The register is
  made up. The single resolves are the code of the service without HTTP.
- **kill**, **buyer-kill**, **reconcile-kill**, **watch-kill**, **failover** and **order**: the service, the disk and PostgreSQL are real. The
  chain is a local anvil with a test token, and the facilitator runs in the process of the service.
- **race** and **import-kill**: processes with the real response log or the real import, without a service.
- **history**: the real journal of a generated register, of which 0.4 % changes each day.
- **simulate**: the executor and the reconciler are real. Disk, chain, facilitator, network and clock are models.
- **fairness**: as perf, with a node that answers after 200 ms. Each client has a loopback address of its own.
- **mutants**: the compiled code with one bug at a time, and the programs and tests of this project that must find it.
- **soak**: as perf, with a facilitator that delays its answers, real kills, and a facilitator and node that survive them.
- **fuzz**: the service over real sockets, with a facilitator and a chain in its process that accept everything.`

export interface ReportedRun {
  name: string
  /** The command of the run, and its time, commit and machine. */
  facts: Record<string, string>
  measured: string
  isPassed: boolean
  /** Markdown below the facts; empty if `measured` says everything. */
  details: string
}

/** Replaces or adds the section of the run. Sorts the sections in the order of `names`, and drops those not in it. */
export function withRun(report: string, run: ReportedRun, names: readonly string[]): string {
  const [, ...earlier] = report.split(/^## /m)
  const sections = new Map(earlier.map((text) => [text.split('\n', 1)[0], `## ${text.trim()}`]))
  sections.set(run.name, toSection(run))
  const kept = names.flatMap((name) => sections.get(name) ?? [])
  const lines = kept.map((text) => [linkTo(text), factOf(text, 'measured'), factOf(text, 'verdict')])
  return `# Benchmarks

Written by \`npm run bench -- report\`. Do not edit. Each section states the run that it shows; \`--only NAME,...\` runs and
replaces only the named sections.

${PARTS}

${markdown(['section', 'measured', 'verdict'], lines)}

${kept.join('\n\n')}
`
}

function toSection({ name, facts, measured, isPassed, details }: ReportedRun): string {
  const all = Object.entries({ ...facts, measured, verdict: isPassed ? 'met' : 'MISSED' })
  const list = all.map(([fact, value]) => `- ${fact}: ${value}`).join('\n')
  // Two levels below those of the output, so that only sections have headings of level two.
  return `## ${name}\n\n${list}\n\n${details.replace(/^#+ /gm, '##$&')}`.trim()
}

function linkTo(section: string): string {
  const name = /^## (.*)/.exec(section)?.[1] ?? ''
  return `[${name}](#${name})`
}

function factOf(section: string, fact: string): string {
  return new RegExp(`^- ${fact}: (.*)$`, 'm').exec(section)?.[1] ?? '-'
}
