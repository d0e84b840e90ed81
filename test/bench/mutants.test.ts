/** Every seeded bug still applies to the sources, so that a change of the code cannot disable one unnoticed. */
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { compile, isProgram, mutate } from './mutants.ts'
import { MUTANTS } from './mutants/list.ts'

const source = (path: string) => fileURLToPath(import.meta.resolve(`#root/${path}`))

describe('the seeded bugs', () => {
  it('each apply at one place of their file, and compile', async () => {
    for (const mutant of MUTANTS) {
      const mutated = mutate(await readFile(source(mutant.file), 'utf8'), mutant)
      expect(mutated, mutant.name).to.be.a('string')
      expect(await compile(mutated ?? '').catch(String), mutant.name).not.to.match(/^Error/)
    }
  })

  it('that name a test name one that exists', () => {
    const named = MUTANTS.filter((mutant) => !isProgram(mutant)).map(({ caughtBy }) => caughtBy.split(': '))
    const compiled = (path: string) => join('dist', path.replace(/\.ts$/, '.js'))
    const files = new Set(named.map(([path = '']) => compiled(path)))
    const args = [fileURLToPath(import.meta.resolve('mocha/bin/mocha.js')), '--no-package', '--dry-run', ...files]
    const listed = execFileSync(process.execPath, [...args, '--reporter', 'json'], { maxBuffer: Infinity })
    const { tests } = JSON.parse(listed.toString()) as { tests: { file: string; fullTitle: string }[] }
    for (const [path = '', title = ''] of named)
      expect(
        tests.some(({ file, fullTitle }) => file.endsWith(compiled(path)) && fullTitle.includes(title)),
        `${path}: ${title}`,
      ).to.equal(true)
  })
})
