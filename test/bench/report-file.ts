/** The text of docs/benchmarks.md: one section for each run, and a table of their verdicts. */
import { markdown } from './markdown.ts'

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
