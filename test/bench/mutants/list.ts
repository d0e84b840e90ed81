/** Reads the seeded bugs of bugs.txt. Each replaces a text of one source file, and one program must then fail. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const BUGS = fileURLToPath(import.meta.resolve('#root/test/bench/mutants/bugs.txt'))

export interface Mutant {
  name: string
  /** A file of the sources. */
  file: string
  find: string
  replace: string
  /** The program that must fail, or the test file. A part of the title follows if its other tests take long. */
  caughtBy: string
}

export const MUTANTS: readonly Mutant[] = readFileSync(BUGS, 'utf8').split('\n# ').slice(1).flatMap(parseSection)

function parseSection(section: string): Mutant[] {
  const [file = '', ...bugs] = section.trim().split(/\n(?! )/)
  return bugs.map((bug) => {
    const [, name, caughtBy, find, replace = ''] = /^(.+) \((.+)\)\n {2}- (.+)(?:\n {2}\+ (.+))?$/.exec(bug) ?? []
    if (name === undefined || caughtBy === undefined || find === undefined)
      throw new Error(`bugs.txt is wrong at: ${bug}`)
    return { name, file, find, replace, caughtBy }
  })
}
