/** The commands `history`: a journal that grew day by day, and one that is built from the same files. */
import { mkdir, writeFile } from 'node:fs/promises'
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
  let archives: string[]
  let environment: Record<string, string>

  before(async () => {
    directory = await makeTemporaryDirectory()
    environment = { DATA_DIR: join(directory, 'data') }
    await mkdir(join(directory, 'files'))
    archives = DAYS.map(([day]) => `${join(directory, 'files', `${day}.csv`)}=${day}`)
    for (const [day, csv] of DAYS) {
      await importAt(day, csv, environment)
      await writeFile(join(directory, 'files', `${day}.csv`), csv)
    }
  })

  async function importAt(time: string, csv: string, to: Record<string, string>): Promise<void> {
    await writeFile(join(directory, 'today.csv'), csv)
    const args = ['import', join(directory, 'today.csv'), '--synthetic', '--accept-changes']
    const imported = await runCommand(args, { environment: to, now: () => new Date(time) })
    expect(imported).to.include({ code: 0, stderr: '' })
  }

  const history = (...args: string[]) => runCommand(['history', ...args], { environment })

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

  it('build an equal journal from the files, also in two runs and with files that it has', async () => {
    const other = { DATA_DIR: join(directory, 'built') }
    for (const given of [archives.slice(0, 2), archives]) {
      const built = await runCommand(['history', 'build', ...given], { environment: other })
      expect(built).to.include({ code: 0, stderr: '' })
    }
    expect(await contents(other)).to.deep.equal(await contents())
  })

  it('refuse a file without a time, with a wrong one, and one that is older than the journal', async () => {
    const [first = ''] = archives
    const before = await contents()
    const file = first.slice(0, first.indexOf('='))
    for (const argument of [file, `${file}=2026-02-30`, `${file}=`])
      expect((await history('build', argument)).stderr).to.contain(`${argument}: write FILE=YYYY-MM-DD`)
    const older = await history('build', `${file}=2025-12-31`)
    const line = 'The journal has a file of 2026-01-05, and only a newer one can be added to it\n'
    expect(older).to.include({ code: 1, stderr: line })
    expect((await history('build', first)).lines[0]).to.match(/^known /)
    expect(await contents()).to.deep.equal(before)
  })

  it('erase the past of a number, and build keeps it erased', async () => {
    expect(await history('erase', '99')).to.include({ code: 1 })
    expect(await history('erase', '1')).to.include({ code: 0 })
    const erased = await contents()
    expect(await versions()).to.include.members(['2026-01-01 1 erased', '2026-01-05 1 absent'])
    expect((await versions()).filter((line) => line.includes('ONE') || line.includes('RENAMED'))).to.deep.equal([])
    expect(await history('build', ...archives)).to.include({ code: 0 })
    expect(await contents()).to.deep.equal(erased)
  })
})
