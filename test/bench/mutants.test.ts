/** Every seeded bug still applies to the compiled code, so that a change of the code cannot disable one unnoticed. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { isProgram, mutate } from './mutants.ts'
import { MUTANTS } from './mutants/list.ts'

const compiled = (path: string) => fileURLToPath(import.meta.resolve(`#root/dist/${path}`))

describe('the seeded bugs', () => {
  it('each apply at one place of their file, and name a program or a test that exists', async () => {
    for (const mutant of MUTANTS) {
      const { caughtBy } = mutant
      expect(mutate(await readFile(compiled(mutant.file), 'utf8'), mutant), mutant.name).to.be.a('string')
      expect(isProgram(mutant) || existsSync(compiled(caughtBy.split(': ')[0] ?? '')), caughtBy).to.equal(true)
    }
  })
})
