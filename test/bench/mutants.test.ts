/** Every seeded bug still applies to the compiled code, so that a change of the code cannot disable one unnoticed. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { mutate } from './mutants.ts'
import { MUTANTS } from './mutants/list.ts'

describe('the seeded bugs', () => {
  it('each apply at one place of their file', async () => {
    for (const mutant of MUTANTS) {
      const path = fileURLToPath(import.meta.resolve(`#root/dist/${mutant.file}`))
      expect(mutate(await readFile(path, 'utf8'), mutant), mutant.name).to.be.a('string')
    }
  })

  it('apply to any white space, and not to two places', () => {
    const mutant = { name: '', file: '', find: 'a = b', replace: 'a = c', caughtBy: 'race' } as const
    expect(mutate('x; a =\n  b; y', mutant)).to.equal('x; a = c; y')
    expect(mutate('a = b; a = b', mutant)).to.equal(undefined)
    expect(mutate('a=b', mutant)).to.equal(undefined)
  })
})
