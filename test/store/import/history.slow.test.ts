/** The commands `history`: a journal that grew day by day, and one that is built from kept archives. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { HistoryDatabase } from '../../../store/history/history-database.ts'
import { registerRow, toCsv } from '../../support/register.ts'
import { runCommand } from '../../support/cli.ts'
import { contentsOf } from '../../support/journal.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

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

  before(async () => {
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
  const kept = async () => (await readdir(archives)).filter((name) => !name.endsWith('.json')).toSorted()
  const paths = async () => (await kept()).map((name) => join(archives, name))

  async function contents({ DATA_DIR = '' } = environment) {
    await using journal = new HistoryDatabase(DATA_DIR, { readOnly: true })
    return contentsOf(journal)
  }

  /** The versions in the journal: the date, the number, and the name or the state. */
  async function versions(): Promise<string[]> {
    return (await contents()).flatMap(([date, number, entry]) => {
      if (entry === undefined) return []
      return `${date} ${number} ${typeof entry === 'string' ? entry : (entry as { legal_name: string }).legal_name}`
    })
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

  it('have what each file said that the file before did not', async () => {
    expect(await versions()).to.deep.equal([
      '2026-01-01 1 ONE',
      '2026-01-01 2 TWO',
      '2026-01-01 30 STAYS LIMITED',
      '2026-01-02 1 RENAMED',
      '2026-01-04 2 quarantined',
      '2026-01-05 1 absent',
      '2026-01-05 2 TWO',
      '2026-01-05 10 ÉCOLE "TEN"',
    ])
  })

  it('build an equal journal from the archives in another order, also with dates in place of facts', async () => {
    const dated = (await paths()).map((path, index) => `${path}=${DAYS[index]?.[0]}`)
    for (const given of [(await paths()).toReversed(), [...dated.slice(2), ...dated.slice(0, 2)]]) {
      const other = { ...environment, DATA_DIR: join(directory, 'built') }
      await rm(other.DATA_DIR, { recursive: true, force: true })
      const built = await runCommand(['history', 'build', ...given], { environment: other })
      expect(built).to.include({ code: 0, stderr: '' })
      expect(await contents(other)).to.deep.equal(await contents())
    }
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

  it('erase the past of a number, and build keeps it erased', async () => {
    expect(await history('erase', '99')).to.include({ code: 1 })
    expect(await history('erase', '1')).to.include({ code: 0 })
    const erased = await contents()
    expect(await versions()).to.include.members(['2026-01-01 1 erased', '2026-01-05 1 absent'])
    expect((await versions()).filter((line) => line.includes('ONE') || line.includes('RENAMED'))).to.deep.equal([])
    expect(await history('build', ...(await paths()))).to.include({ code: 0 })
    expect(await contents()).to.deep.equal(erased)
  })
})
