/** The current dataset: visible soon after another process has published it, and never an old one after an error. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { openCatalog, type Catalog } from '../../store/catalog.ts'
import { importDataset } from '../../store/import/run.ts'
import { CRO_COMPANIES } from '../../store/source.ts'
import { PROCESSES, REGISTER } from '../support/fixtures.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'

/** Longer than the refresh interval of the catalogue. */
const REFRESH_MS = 25

describe('the catalogue', () => {
  let directory: string
  let catalog: Catalog
  let other: Catalog

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    catalog = openCatalog(directory)
    other = openCatalog(directory)
  })
  afterEach(async () => {
    await Promise.all([catalog.close(), other.close()])
  })

  const publish = (by: Catalog) =>
    importDataset({
      dataDirectory: directory,
      catalog: by,
      path: REGISTER,
      publication: CRO_COMPANIES,
      processes: PROCESSES,
      now: () => new Date('2026-01-01T00:00:00Z'),
    })

  it('returns its own publication at once, and that of another process after the refresh interval', async () => {
    expect(catalog.current()).to.equal(undefined)
    expect(other.current()).to.equal(undefined)
    const { info } = await publish(catalog)
    expect(catalog.current()?.snapshot.info).to.deep.equal(info)
    await sleep(REFRESH_MS)
    expect(other.current()?.snapshot.info).to.deep.equal(info)
  })

  it('does not return the previous dataset after its own publication', async () => {
    await publish(catalog)
    const lost = { ...catalog.retrieval()!, snapshot_id: `sha256:${'0'.repeat(64)}` }
    expect(catalog.current()).not.to.equal(undefined)
    await catalog.publish(lost)
    expect(() => catalog.current()).to.throw()
  })

  it('throws every time while the current dataset cannot be read', async () => {
    await publish(catalog)
    expect(catalog.current()).not.to.equal(undefined)
    const lost = { ...catalog.retrieval()!, snapshot_id: `sha256:${'0'.repeat(64)}` }
    await other.publish(lost)
    await sleep(REFRESH_MS)
    for (let times = 0; times < 5; times += 1) expect(() => catalog.current()).to.throw()
  })
})
