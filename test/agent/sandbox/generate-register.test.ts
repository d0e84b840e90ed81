/** The command `generate`: complete files or none, the same bytes each time, and wrong arguments. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { SAMPLE_ROWS_MIN, sampleRegister } from '../../../agent/sandbox/sample-register.ts'
import { openCsv } from '../../../store/import/archive.ts'
import { runCommand } from '../../support/cli.ts'

describe('the command generate', () => {
  let directory: string
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'generate-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  const file = (name: string) => join(directory, name)
  const generate = (rows: number, name: string) =>
    runCommand(['generate', '--rows', String(rows), '--seed', '3', '--out', file(name)])

  it('writes the made-up register as CSV and as a ZIP archive, with the same bytes each time', async () => {
    const register = [...sampleRegister({ rows: 3_000, seed: 3 })].join('')
    expect(await generate(3_000, 'a.csv')).to.include({ code: 0, text: `3000 rows in ${file('a.csv')}` })
    expect(await readFile(file('a.csv'), 'utf8')).to.equal(register)
    for (const name of ['a.zip', 'b.zip']) expect((await generate(3_000, name)).code).to.equal(0)
    expect((await buffer(await openCsv(file('a.zip')))).toString()).to.equal(register)
    expect((await readFile(file('a.zip'))).equals(await readFile(file('b.zip')))).to.equal(true)
    expect(await readdir(directory)).to.have.members(['a.csv', 'a.zip', 'b.zip'])
  })

  it('writes an archive that is valid for unzip', async function () {
    await generate(500, 'a.zip')
    const tested = await promisify(execFile)('unzip', ['-t', file('a.zip')]).catch((error: unknown) => error)
    if ((tested as NodeJS.ErrnoException).code === 'ENOENT') return this.skip()
    expect(tested)
      .to.have.property('stdout')
      .that.matches(/companies\.csv +OK\nNo errors detected/)
  })

  it('writes a register that an import accepts, also with the least number of rows', async () => {
    await generate(SAMPLE_ROWS_MIN, 'a.zip')
    const { code, stderr } = await runCommand(['import', file('a.zip'), '--synthetic'], {
      environment: { DATA_DIR: file('data') },
    })
    expect(code, stderr).to.equal(0)
  })

  it('refuses fewer rows with one line', async () => {
    const { code, stderr } = await generate(SAMPLE_ROWS_MIN - 1, 'a.zip')
    expect(code).to.equal(1)
    expect(stderr).to.equal(`A register needs at least ${SAMPLE_ROWS_MIN} rows\n`)
  })

  for (const [what, args] of [
    ['no rows', ['--seed', '1', '--out', 'a.zip']],
    ['no seed', ['--rows', '500', '--out', 'a.zip']],
    ['a negative seed', ['--rows', '500', '--seed=-1', '--out', 'a.zip']],
    ['an unknown file type', ['--rows', '500', '--seed', '1', '--out', 'a.txt']],
    ['an unknown option', ['--rows', '500', '--seed', '1', '--out', 'a.zip', '--fast']],
  ] as const) {
    it(`exits with 2 and one line for ${what}`, async () => {
      const { code, stderr } = await runCommand(['generate', ...args])
      expect(code).to.equal(2)
      expect(stderr).to.match(/^error: [^\n]+\n$/)
    })
  }

  it('leaves no file if the register cannot be generated', async () => {
    expect(await generate(3, 'a.zip')).to.include({ code: 1 })
    expect(await readdir(directory)).to.deep.equal([])
  })
})
