/** The arguments of a test program. */
import { parseArgs } from 'node:util'

const EXIT_USAGE = 2

/**
 * Ends the process before it does anything, if it was called with an option or another number of arguments.
 * @param usage their names: those in one pair of brackets can be left out together, and one with dots can repeat
 */
export function readArguments(usage: string): string[] {
  const counts: number[] = []
  let most = 0
  for (const group of usage.match(/\[[^\]]+\]|\S+/g) ?? []) {
    if (group.startsWith('[')) counts.push(most)
    most += group.split(' ').length
  }
  counts.push(most)
  try {
    const { positionals } = parseArgs({ allowPositionals: true })
    const count = positionals.length
    if (counts.includes(count) || (count > most && usage.includes('...'))) return positionals
  } catch {
    // An option.
  }
  process.stderr.write(`The arguments are: ${usage || 'none'}\n`)
  process.exit(EXIT_USAGE)
}
