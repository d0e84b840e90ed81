/** The command `generate`: whole files or none, the same bytes again, and what it doesn't understand. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { generateCommand } from '../../../agent/sandbox/generate-command.ts'
import { sampleRegister } from '../../../agent/sandbox/sample.ts'
import { openCsv } from '../../../store/import/archive.ts'

describe('the command generate', () => {
  let directory: string
  let printed: string[]
  let shown: string[]
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'generate-'))
    printed = []
    shown = []
  })
  afterEach(() => rm(directory, { recursive: true }))

  const generate = (...args: string[]) =>
    generateCommand({ args, print: (line) => void printed.push(line), progress: (line) => void shown.push(line) })
  const file = (name: string) => join(directory, name)
  const ofSize = (rows: number, name: string) => generate('--rows', String(rows), '--seed', '3', '--out', file(name))

  it('writes the made-up register, as CSV and as ZIP', async () => {
    const register = [...sampleRegister({ rows: 3_000, seed: 3 })].join('')
    expect(await ofSize(3_000, 'a.csv')).to.equal(0)
    expect(await readFile(file('a.csv'), 'utf8')).to.equal(register)
    expect(await ofSize(3_000, 'a.zip')).to.equal(0)
    const parts: Buffer[] = []
    for await (const chunk of await openCsv(file('a.zip'))) parts.push(chunk as Buffer)
    expect(Buffer.concat(parts).toString()).to.equal(register)
    expect(await readdir(directory)).to.have.members(['a.csv', 'a.zip'])
    expect(printed).to.have.lengthOf(2)
  })

  it('writes the same bytes again', async () => {
    for (const name of ['one.zip', 'two.zip']) await ofSize(500, name)
    expect((await readFile(file('one.zip'))).equals(await readFile(file('two.zip')))).to.equal(true)
  })

  it('shows how far it is', async () => {
    await ofSize(10_000, 'a.csv')
    expect(shown).to.include('writing 10000 of 10000 rows')
  })

  for (const [what, args] of [
    ['no rows', ['--seed', '1', '--out', 'a.zip']],
    ['no seed', ['--rows', '100', '--out', 'a.zip']],
    ['a negative seed', ['--rows', '100', '--seed=-1', '--out', 'a.zip']],
    ['another form of file', ['--rows', '100', '--seed', '1', '--out', 'a.txt']],
    ['an option it does not know', ['--rows', '100', '--seed', '1', '--out', 'a.zip', '--fast']],
  ] as const) {
    it(`explains itself when it is told ${what}`, async () => {
      expect(await generate(...args)).to.equal(2)
      expect(printed.join()).to.match(/^usage: npm run generate/)
    })
  }

  it('leaves nothing behind of a register that cannot be', async () => {
    const error = await ofSize(3, 'a.zip').catch((cause: unknown) => cause)
    expect(error).to.be.instanceOf(RangeError)
    expect(await readdir(directory)).to.deep.equal([])
  })
})
