/** The exit statuses in the help of a command (contract 14.5). */
import type { Command } from 'commander'

type Statuses = Readonly<Record<number, string>>

const COMMON: Statuses = { 0: 'done', 1: 'failed', 2: 'wrong arguments', 5: 'output not written' }

const statusesOf = new WeakMap<Command, Statuses>()

/** Those of a command that differ from the common ones, or are added. */
export const setStatuses = (command: Command, statuses: Statuses): void => void statusesOf.set(command, statuses)

export function describeStatuses(command: Command): string {
  const all = Object.entries({ ...COMMON, ...statusesOf.get(command) })
  return `\n${wrap(`Exit status: ${all.map(([status, text]) => `${status} ${text}`).join(', ')}.`)}`
}

const WIDTH = 80

/** As lines of a terminal. */
export function wrap(text: string): string {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1) ?? ''} ${word}`
    if (lines.length === 0) lines.push(word)
    else if (line.length <= WIDTH) lines[lines.length - 1] = line
    else lines.push(word)
  }
  return lines.join('\n')
}
