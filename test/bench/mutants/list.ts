/** Reads the seeded bugs of bugs.txt. Each replaces a text of one compiled file, and one programme must then fail. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const BUGS = fileURLToPath(import.meta.resolve('#root/test/bench/mutants/bugs.txt'))

export interface Mutant {
  name: string
  /** A file of the compiled tree. */
  file: string
  find: string
  replace: string
  /** The programme that must fail with its options, or the compiled test file. */
  caughtBy: string
}

export const MUTANTS: readonly Mutant[] = readFileSync(BUGS, 'utf8').split('\n# ').slice(1).flatMap(parseSection)

/** The name of a file, then three lines for each of its bugs. */
function parseSection(section: string): Mutant[] {
  const [file = '', ...lines] = section.trim().split('\n')
  return Array.from({ length: Math.ceil(lines.length / 3) }, (_, index) => {
    const bug = lines.slice(3 * index, 3 * index + 3).join('\n')
    const [, name, caughtBy, find, replace] = /^(\S.*) \((.+)\)\n {2}- (.+)\n {2}\+ ?(.*)$/.exec(bug) ?? []
    if (name === undefined || caughtBy === undefined || find === undefined || replace === undefined)
      throw new Error(`bugs.txt is wrong at: ${bug}`)
    return { name, file, find, replace, caughtBy }
  })
}
