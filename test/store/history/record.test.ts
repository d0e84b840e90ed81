/** Imports write the journal: what they record, and what a kill, a damaged journal or an earlier version leaves. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { CRO_COMPANIES } from '../../../store/dataset/source.ts'
import { historyFolder } from '../../../store/files/layout.ts'
import { HistoryDatabase } from '../../../store/history/history-database.ts'
import { Journal } from '../../../store/history/journal.ts'
import { importDataset } from '../../../store/import/run.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { registerRow, toCsv } from '../../support/register.ts'
import { contentsOf } from '../../support/journal.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const named = (number: string, name: string) => registerRow({ company_num: number, company_name: name })

const FIRST = toCsv(named('1', 'ONE'), named('2', 'TWO'))
const THIRD = toCsv(named('1', 'THIRD'), named('2', 'TWO'), named('3', 'THREE'))
const SECOND = toCsv(named('1', 'ONE'), named('2', 'RENAMED'), named('3', 'THREE'))

describe('an import and the journal', () => {
  let directory: string
  let catalog: Catalog

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    catalog = new Catalog(directory)
  })

  afterEach(() => catalog.close())

  async function importOn(day: string, content: string, change: Partial<Parameters<typeof importDataset>[0]> = {}) {
    const path = join(directory, 'archive.csv')
    await writeFile(path, content)
    const request = { dataDirectory: directory, catalog, path, publication: CRO_COMPANIES }
    return importDataset({ ...request, now: () => new Date(day), ...change })
  }

  async function readSteps() {
    const journal = new Journal(directory)
    const steps = [...journal.changes({ since: '2026-01-01', until: '2026-12-31' })]
    const days = { oldest: journal.completeSince(), newest: journal.newest()?.date }
    await journal.close()
    return { ...days, changes: steps.map(({ step, company_number }) => `${step.date} ${company_number}`) }
  }

  async function readContents() {
    await using history = new HistoryDatabase(directory, { readOnly: true })
    return contentsOf(history)
  }

  it('records each file that says something else, and each day', async () => {
    const first = await importOn('2026-01-01', FIRST)
    expect(first.historyFailure).to.equal(undefined)
    await importOn('2026-01-01T10:00:00Z', FIRST)
    await importOn('2026-01-02', FIRST)
    const last = await importOn('2026-01-03', SECOND)
    expect(await readSteps()).to.deep.equal({
      oldest: '2026-01-01',
      newest: '2026-01-03',
      changes: ['2026-01-03 2', '2026-01-03 3'],
    })
    const journal = new Journal(directory)
    expect(journal.newest()).to.deep.include({ snapshot_id: last.info.snapshot_id, source: catalog.current()?.source })
    expect(journal.gaps('2026-01-01', '2026-01-03')).to.deep.equal([])
    await journal.close()
  })

  it('calls known records fresh before the journal is written, and new ones after it', async () => {
    const newestAtPublication: (string | undefined)[] = []
    const observed = replaceMethods(catalog, {
      async publish(entry) {
        newestAtPublication.push((await readSteps()).newest)
        return catalog.publish(entry)
      },
    })
    await importOn('2026-01-01', FIRST)
    await importOn('2026-01-05', FIRST, { catalog: observed })
    await importOn('2026-01-06', SECOND, { catalog: observed })
    expect(newestAtPublication).to.deep.equal(['2026-01-01', '2026-01-06'])
  })

  it('is repeated after a kill between its two writes without recording anything twice', async () => {
    await importOn('2026-01-01', FIRST)
    const killed = replaceMethods(catalog, { publish: () => Promise.reject(new Error('killed')) })
    await importOn('2026-01-02T01:00:00Z', SECOND, { catalog: killed }).catch(() => undefined)
    const contents = await readContents()
    const { info } = await importOn('2026-01-02T02:00:00Z', SECOND)
    expect(catalog.retrieval()?.snapshot_id).to.equal(info.snapshot_id)
    expect(await readContents()).to.deep.equal(contents)
    expect((await readSteps()).changes).to.deep.equal(['2026-01-02 2', '2026-01-02 3'])
  })

  it('publishes without a journal that cannot be written, and the next one records both', async () => {
    await mkdir(historyFolder(directory), { recursive: true })
    await writeFile(join(historyFolder(directory), 'data.mdb'), 'not a database'.repeat(100))
    const failed = await importOn('2026-01-01', FIRST)
    expect(failed.historyFailure).to.have.property('name', 'StoreError')
    expect(catalog.retrieval()?.snapshot_id).to.equal(failed.info.snapshot_id)
    await rm(historyFolder(directory), { recursive: true })
    expect((await importOn('2026-01-02', SECOND)).historyFailure).to.equal(undefined)
    expect((await readSteps()).changes).to.deep.equal(['2026-01-02 2', '2026-01-02 3'])
  })

  it('publishes a file older than the journal, and records it neither if it is forced nor else', async () => {
    await importOn('2026-01-02', FIRST)
    const contents = await readContents()
    const older = await importOn('2026-01-01', SECOND)
    expect(older.historyFailure).to.have.property('message').that.contains('only a newer one can be added')
    expect(catalog.retrieval()?.snapshot_id).to.equal(older.info.snapshot_id)
    const forced = await importOn('2026-01-01T01:00:00Z', THIRD, { isForced: true })
    expect(forced.historyFailure).to.equal(undefined)
    expect(catalog.retrieval()?.snapshot_id).to.equal(forced.info.snapshot_id)
    expect(await readContents()).to.deep.equal(contents)
    expect((await importOn('2026-01-03', THIRD)).historyFailure).to.equal(undefined)
    expect((await readSteps()).changes).to.deep.equal(['2026-01-03 1', '2026-01-03 3'])
  })
})
