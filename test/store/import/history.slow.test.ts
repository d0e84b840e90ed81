/**
 * The commands `history`: a journal that grew day by day, one that is built from kept archives, and the independent
 * program.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { historyFolder } from '../../../store/files/layout.ts'
import { registerRow, toCsv } from '../../support/register.ts'
import { runCommand } from '../../support/cli.ts'
import { runPython, skipWithoutPython } from '../../support/python.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const PROGRAM = fileURLToPath(new URL(import.meta.resolve('#root/test/programs/history_digest.py')))

const named = (number: string, name: string) => registerRow({ company_num: number, company_name: name })
const STAYS = named('30', 'STAYS LIMITED')
const DAYS: [day: string, csv: string][] = [
  ['2026-01-01', toCsv(named('1', 'ONE'), named('2', 'TWO'), STAYS)],
  ['2026-01-02', toCsv(named('1', 'RENAMED'), named('2', 'TWO'), STAYS)],
  ['2026-01-04', toCsv(named('1', 'RENAMED'), named('2', 'TWO'), named('2', 'TWICE'), STAYS)],
  ['2026-01-05', toCsv(named('2', 'TWO'), named('10', 'ÉCOLE "TEN"'), STAYS)],
]

describe('the commands history', function () {
  // Each import and each archive is a child process.
  this.timeout(240_000)
  let directory: string
  let archives: string
  let environment: Record<string, string>

  before(async function () {
    await skipWithoutPython(this)
    directory = await makeTemporaryDirectory()
    archives = join(directory, 'archives')
    environment = { DATA_DIR: join(directory, 'data'), ARCHIVE_DIRECTORY: archives }
    for (const [day, csv] of DAYS) await importAt(day, csv, environment)
  })

  async function importAt(time: string, csv: string, to: Record<string, string>): Promise<void> {
    await writeFile(join(directory, 'today.csv'), csv)
    const args = ['import', join(directory, 'today.csv'), '--synthetic', '--accept-changes']
    const imported = await runCommand(args, { environment: to, now: () => new Date(time) })
    expect(imported).to.include({ code: 0, stderr: '' })
  }

  const history = (...args: string[]) => runCommand(['history', ...args], { environment })
  const digestOf = (text: string) => /sha256:[0-9a-f]{64}/.exec(text)?.[0]
  const kept = async () => (await readdir(archives)).filter((name) => !name.endsWith('.json')).toSorted()
  const paths = async () => (await kept()).map((name) => join(archives, name))

  async function pythonDigest(...erased: string[]): Promise<string> {
    const files = (await paths()).map((path, index) => `${DAYS[index]?.[0]}=${path}`)
    const { stdout, stderr } = await runPython([PROGRAM, ...files.toReversed(), ...erased])
    expect(stderr).to.equal('')
    return stdout.trim()
  }

  it('keeps each archive with its facts', async () => {
    expect((await kept()).map((name) => name.slice(0, 10))).to.deep.equal(DAYS.map(([day]) => day))
    const facts: unknown = JSON.parse(await readFile(`${(await paths())[1]}.json`, 'utf8'))
    expect(facts).to.deep.include({
      retrieved_at: '2026-01-02T00:00:00.000Z',
      source_updated_at: null,
      synthetic: true,
    })
  })

  it('print a digest that the independent program computes from the archives', async () => {
    const { code, text } = await history('digest')
    expect(code).to.equal(0)
    expect(digestOf(text)).to.equal(await pythonDigest())
  })

  it('build an equal journal from the archives in another order, also with dates in place of facts', async () => {
    const { text } = await history('digest')
    const dated = (await paths()).map((path, index) => `${path}=${DAYS[index]?.[0]}`)
    for (const given of [(await paths()).toReversed(), [...dated.slice(2), ...dated.slice(0, 2)]]) {
      const other = { ...environment, DATA_DIR: join(directory, 'built') }
      await rm(other.DATA_DIR, { recursive: true, force: true })
      const built = await runCommand(['history', 'build', ...given], { environment: other })
      expect(built).to.include({ code: 0, stderr: '' })
      expect(digestOf(built.lines.at(-1) ?? '')).to.equal(digestOf(text))
    }
  })

  it('verify the journal, and name the day at which it differs', async () => {
    expect(await history('verify', ...(await paths()))).to.include({ code: 0 })
    const without = (await paths()).filter((_, index) => index !== 2)
    const { code, lines } = await history('verify', ...without)
    expect(code).to.equal(1)
    expect(lines.at(-1)).to.equal('differs 2026-01-04')
  })

  it('verify a day on which a file comes back, from all files of the folder', async () => {
    const other = { DATA_DIR: join(directory, 'day'), ARCHIVE_DIRECTORY: join(directory, 'day-archives') }
    for (const [hour, name] of ['ONE', 'RENAMED', 'ONE'].entries())
      await importAt(`2026-01-01T0${hour}:00:00Z`, toCsv(named('1', name)), other)
    const files = (await readdir(other.ARCHIVE_DIRECTORY)).map((name) => join(other.ARCHIVE_DIRECTORY, name))
    expect(await runCommand(['history', 'verify', ...files], { environment: other })).to.include({
      code: 0,
      stderr: '',
    })
  })

  it('refuse an archive without facts, with a wrong time, with other bytes, and a second file of one time', async () => {
    const [first = '', second = ''] = await paths()
    const copy = join(directory, 'copy.csv')
    await writeFile(copy, DAYS[0]?.[1] ?? '')
    expect((await history('build', copy)).stderr).to.contain('has no facts of the archive')
    expect((await history('build', `${copy}=2026-02-30`)).stderr).to.contain('the time must be')
    await writeFile(`${copy}.json`, await readFile(`${second}.json`))
    expect((await history('build', copy)).stderr).to.contain('is not the archive')
    expect((await history('build', `${second}=2026-01-01`)).stderr).to.contain('another file of the same time')
    expect((await history('build', first)).lines[0]).to.match(/^known /)
  })

  it('erase the past of a number, and verify and build keep it erased', async () => {
    expect(await history('erase', '99')).to.include({ code: 1 })
    expect(await history('erase', '1')).to.include({ code: 0 })
    expect(digestOf((await history('digest')).text)).to.equal(await pythonDigest('erased=1'))
    expect(await history('verify', ...(await paths()))).to.include({ code: 0 })
    await rename(historyFolder(environment['DATA_DIR'] ?? ''), join(directory, 'moved'))
    await mkdir(historyFolder(environment['DATA_DIR'] ?? ''))
    expect(await history('verify', ...(await paths()))).to.include({ code: 1 })
  })
})
