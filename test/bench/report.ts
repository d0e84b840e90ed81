/** What a program prints: Markdown tables, figures beside their targets, and the machine of a run. */
import { cpus } from 'node:os'

/** Prints a line, or a text of several lines. */
export const print = (text: string) => void process.stdout.write(`${text}\n`)

/** Describes the machine and the day of a run. */
export function describeMachine(): string {
  const [cpu] = cpus()
  return `${cpus().length} cores, ${cpu?.model.trim()}, Node.js ${process.version}, ${new Date().toISOString().slice(0, 10)}`
}

export interface Target {
  target: string
  measured: string
  /** Undefined if there was nothing to measure. */
  isMet: boolean | undefined
}

export function allMet(targets: readonly Target[]): boolean {
  return targets.every(({ isMet }) => isMet !== false)
}

export function targetTable(targets: readonly Target[]): string {
  const lines = targets.map(({ target, measured, isMet }) => [target, measured, toVerdict(isMet)])
  return markdown(['target', 'measured', ''], lines)
}

function toVerdict(isMet: boolean | undefined): string {
  if (isMet === undefined) return 'not measured'
  return isMet ? 'met' : 'MISSED'
}

/** A table, padded as the project's formatter pads it. */
export function markdown(headings: readonly string[], lines: readonly (readonly string[])[]): string {
  const all = [headings, ...lines].map((cells) => cells.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = headings.map((_, column) => Math.max(3, ...all.map((cells) => cells[column]?.length ?? 0)))
  const row = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const [first = [], ...rest] = all
  return [row(first), row(widths.map((width) => '-'.repeat(width))), ...rest.map(row)].join('\n')
}

/** Below it, two digits would round one in 20,000 to one in 10,000. */
const SMALL_SHARE = 0.0001

export function percent(value: number): string {
  const digits = value < SMALL_SHARE ? 3 : 2
  return Number.isNaN(value) ? '-' : `${Number((value * 100).toFixed(digits))} %`
}
