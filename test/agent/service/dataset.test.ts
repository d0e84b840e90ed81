/** Which dataset is served: the configured one, else the last one, else the sample. A failure changes nothing. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { startDailyRetrieval, retrieveDataset } from '../../../agent/service/dataset.ts'
import { importInProcess } from '../../../operator/cli/import-process.ts'
import { SAMPLE_DAMAGE, SAMPLE_HISTORY, SAMPLE_SHOWCASE } from '../../support/sample/showcase.ts'
import type { Report } from '../../../base/runtime.ts'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { Journal } from '../../../store/history/journal.ts'
import { historyFolder, LAYOUT_KEY, LAYOUT_VERSION, snapshotFolder } from '../../../store/files/layout.ts'
import { openEnvironment } from '../../../store/files/environment.ts'
import { runCommand } from '../../support/cli.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { importByCommand } from '../../support/import-by-command.ts'
import { outcomeOf } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('the dataset', () => {
  let directory: string
  let catalog: Catalog
  let clock = Date.parse('2026-01-01T00:00:00Z')

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    catalog = new Catalog(directory)
  })
  afterEach(() => catalog.close())

  const now = () => new Date((clock += 1000))
  const requestOf = (path?: string) => {
    return { dataDirectory: directory, catalog, path, now, runImport: importByCommand(directory, now) }
  }
  const retrieve = (path?: string) => retrieveDataset(requestOf(path), new AbortController().signal)
  const start = (path: string, report: Report = () => undefined) => {
    const timer = () => () => undefined
    return startDailyRetrieval({ ...requestOf(path), random: () => 0.5, timer, report })
  }

  it('is the synthetic sample at first', async () => {
    await retrieve()
    expect(catalog.current()?.snapshot.info).to.include({
      row_count: 1000,
      quarantined_company_count: SAMPLE_DAMAGE.quarantinedCompanies,
      rejected_row_count: SAMPLE_DAMAGE.rejectedRows,
    })
    expect(catalog.retrieval()?.source.synthetic).to.equal(true)
    const { number, name } = SAMPLE_SHOWCASE.live
    expect(catalog.current()?.snapshot.find(number)).to.include({ legal_name: name })
    expect(catalog.current()?.snapshot.find(SAMPLE_SHOWCASE.quarantinedByName.number)).to.equal('quarantined')
  })

  it('begins with the sample of five days, so that the sandbox has a history', async () => {
    await retrieve()
    await retrieve()
    const journal = new Journal(directory)
    const { live } = SAMPLE_SHOWCASE
    const { formerName, added, removed } = SAMPLE_HISTORY
    const range = { since: '2020-01-01', until: '2030-01-01' }
    const changes = [...journal.changes(range)].map(({ step, company_number }) => `${step.date} ${company_number}`)
    const names = [...journal.versions(live.number)].map(({ entry }) => typeof entry === 'object' && entry.legal_name)
    const bounds = [journal.completeSince(), journal.newest()?.date]
    await journal.close()
    expect(bounds).to.deep.equal(['2025-12-28', '2026-01-01'])
    expect(changes).to.deep.equal([
      `2025-12-30 ${live.number}`,
      `2025-12-31 ${added.number}`,
      `2026-01-01 ${removed.number}`,
    ])
    expect(names).to.deep.equal([live.name, formerName.name])
  })

  it('is the last imported archive, which is retrieved again', async () => {
    await retrieve()
    await retrieve(REGISTER)
    const { snapshot_id, source } = catalog.retrieval() ?? {}
    await retrieve()
    expect(catalog.retrieval()).to.include({ snapshot_id })
    expect(catalog.retrieval()?.source.retrieved_at).not.to.equal(source?.retrieved_at)
    expect(catalog.retrieval()?.location).to.equal(REGISTER)
    expect(catalog.current()?.snapshot.find('73848')).to.include({ legal_name: 'PLAIN FIXTURE LIMITED' })
  })

  it('stays synthetic or not, as it was imported', async () => {
    for (const synthetic of [true, false]) {
      const args = ['import', REGISTER, ...(synthetic ? ['--synthetic'] : [])]
      expect(await runCommand(args, { environment: { DATA_DIR: directory }, now })).to.include({ code: 0 })
      expect(catalog.retrieval()?.source.synthetic).to.equal(synthetic)
      await retrieve()
      expect(catalog.retrieval()?.source).to.include({ synthetic })
    }
  })

  it('is named by its variable and its path if it is missing', async () => {
    const path = join(directory, 'none.csv')
    const failure = (error: unknown) => (error as Error).message
    expect(await retrieve(path).catch(failure)).to.equal(`DATASET: ${path}: is missing or is not a regular file`)
  })

  it('is served although its journal cannot be written, which is reported', async () => {
    await mkdir(historyFolder(directory), { recursive: true })
    await writeFile(join(historyFolder(directory), 'data.mdb'), 'not a database'.repeat(100))
    const reports: [event: string, cause: unknown][] = []
    const schedule = await start(REGISTER, (event, cause) => void reports.push([event, cause]))
    expect(reports.map(([event]) => event)).to.deep.equal(['history_not_recorded'])
    expect(reports[0]?.[1]).to.have.property('message').that.contains('the snapshot is served')
    expect([schedule.hasFailed(), schedule.pendingSince()]).to.deep.equal([false, undefined])
    expect(catalog.current()?.snapshot.find('73848')).to.include({ legal_name: 'PLAIN FIXTURE LIMITED' })
  })

  it('[11.10] is the last one while imports exhaust their memory', async () => {
    await retrieve(REGISTER)
    const runImport = importInProcess({ dataDirectory: directory, environment: {}, heapMib: 4 })
    const { signal } = new AbortController()
    const outcome = await outcomeOf(retrieveDataset({ ...requestOf(REGISTER), runImport }, signal))
    expect(outcome).to.equal('import_crashed')
    expect(catalog.current()?.snapshot.find('73848')).to.include({ legal_name: 'PLAIN FIXTURE LIMITED' })
  })

  it('is retrieved before the start if its snapshot cannot be read', async () => {
    await retrieve(REGISTER)
    const folder = snapshotFolder(directory, catalog.retrieval()?.snapshot_id ?? '')
    await catalog.close()
    const environment = openEnvironment({ folder, kind: 'snapshot' })
    await environment.put(LAYOUT_KEY, { kind: 'snapshot', version: LAYOUT_VERSION.snapshot - 1 })
    await environment.close()
    catalog = new Catalog(directory)
    const schedule = await start(REGISTER)
    await schedule.stop()
    expect(catalog.current()?.snapshot.find('73848')).to.include({ legal_name: 'PLAIN FIXTURE LIMITED' })
  })
})
