/** What is current: seen soon after another process has published it, and never in place of what can't be read. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { openCatalog, type Catalog } from '../../store/catalog.ts'
import { importDataset } from '../../store/import/run.ts'
import { CRO_COMPANIES } from '../../store/source.ts'
import { PROCESSES, REGISTER } from '../support/fixtures.ts'

/** Above the time for which what was current is taken for it. */
const A_LITTLE_MS = 25

describe('the catalogue', () => {
  let directory: string
  let catalog: Catalog
  let other: Catalog

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'catalog-'))
    catalog = openCatalog(directory)
    other = openCatalog(directory)
  })
  afterEach(async () => {
    await Promise.all([catalog.close(), other.close()])
    await rm(directory, { recursive: true })
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

  it('has what was published by itself at once, by another a little later', async () => {
    expect(catalog.current()).to.equal(undefined)
    expect(other.current()).to.equal(undefined)
    const { info } = await publish(catalog)
    expect(catalog.current()?.snapshot.info).to.deep.equal(info)
    await sleep(A_LITTLE_MS)
    expect(other.current()?.snapshot.info).to.deep.equal(info)
  })

  it('has what it has published itself in the same moment', async () => {
    await publish(catalog)
    const lost = { ...catalog.retrieval()!, snapshot_id: `sha256:${'0'.repeat(64)}` }
    expect(catalog.current()).not.to.equal(undefined)
    await catalog.publish(lost)
    expect(() => catalog.current()).to.throw()
  })

  it('fails each time while what is current can not be read, and never gives what was before', async () => {
    await publish(catalog)
    expect(catalog.current()).not.to.equal(undefined)
    const lost = { ...catalog.retrieval()!, snapshot_id: `sha256:${'0'.repeat(64)}` }
    await other.publish(lost)
    await sleep(A_LITTLE_MS)
    for (let times = 0; times < 5; times += 1) expect(() => catalog.current()).to.throw()
  })
})
