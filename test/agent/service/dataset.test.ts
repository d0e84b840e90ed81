/** Which dataset is served: the configured one, else the last one, else the sample. A failure changes nothing. */
import { join } from 'node:path'
import { expect } from 'chai'
import { startDailyRetrieval, retrieveDataset } from '../../../agent/service/dataset.ts'
import { SAMPLE_DAMAGE, SAMPLE_HISTORY, SAMPLE_SHOWCASE } from '../../support/sample/showcase.ts'
import type { Report } from '../../../store/base/runtime.ts'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { Journal } from '../../../store/history/journal.ts'
import { LAYOUT_KEY, LAYOUT_VERSION, snapshotFolder } from '../../../store/files/layout.ts'
import { openEnvironment } from '../../../store/files/environment.ts'
import { runCommand } from '../../support/cli.ts'
import { REGISTER } from '../../support/fixtures.ts'
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
  const retrieve = (path?: string) => retrieveDataset({ dataDirectory: directory, catalog, path, now })
  const start = (path: string, report: Report = () => undefined) => {
    const timer = () => () => undefined
    return startDailyRetrieval({ dataDirectory: directory, catalog, path, now, random: () => 0.5, timer, report })
  }

  it('is the synthetic sample at first', async () => {
    const { changed, info } = await retrieve()
    expect(changed).to.equal(true)
    expect(info).to.include({
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
    const bounds = [journal.oldest()?.date, journal.newest()?.date]
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
    expect((await retrieve()).changed).to.equal(false)
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
