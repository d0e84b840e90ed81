/** The programs of test/programs, which npm scripts and tests run. */
import { execFile, spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { makeTemporaryDirectory } from './support/temporary-directory.ts'

const FOLDER = fileURLToPath(new URL('programs/', import.meta.url))
const ARGUMENTS = new URL('support/arguments.js', import.meta.url).href
/** Runs as a thread of `bench simulate`, without arguments. */
const THREAD = 'simulate-worker.js'

const programs = (await readdir(FOLDER)).filter((name) => name.endsWith('.js') && name !== THREAD)

describe('the programs of the tests', () => {
  for (const name of programs)
    it(`${name} refuses an unknown option before it does anything`, async () => {
      const cwd = await makeTemporaryDirectory()
      const refusal = await new Promise((resolve) => {
        execFile(process.execPath, [FOLDER + name, '--help'], { cwd }, (error, stdout, stderr) =>
          resolve([error?.code, stdout, stderr.split(':')[0]]),
        )
      })
      expect(refusal).to.deep.equal([2, '', 'The arguments are'])
      expect(await readdir(cwd)).to.deep.equal([])
    })

  it('take as many arguments as they name', () => {
    const isTaken = (usage: string, count: number) => {
      const args = Array.from({ length: count }, (_, at) => `a${at}`)
      const script = `import { readArguments } from '${ARGUMENTS}'; readArguments('${usage}')`
      return spawnSync(process.execPath, ['--input-type=module', '-e', script, ...args]).status === 0
    }
    const taken = (usage: string) => [0, 1, 2, 3, 4].filter((count) => isTaken(usage, count))
    expect(taken('')).to.deep.equal([0])
    expect(taken('[ROWS SEED FILE]')).to.deep.equal([0, 3])
    expect(taken('FOLDER [FILE]')).to.deep.equal([1, 2])
    expect(taken('COMMAND [KID...]')).to.deep.equal([1, 2, 3, 4])
  })
})
