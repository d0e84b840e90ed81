/** The current dataset: visible soon after another process has published it, and undefined while it cannot be read. */
import { cp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { awaitWrite, openEnvironment, StoreError } from '../../../store/files/environment.ts'
import { importDataset } from '../../../store/import/run.ts'
import { catalogFolder, snapshotFolder } from '../../../store/files/layout.ts'
import { CRO_COMPANIES } from '../../../store/dataset/source.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { numberedRows, toCsv } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

/** Without most pages of a snapshot that is larger than the tolerance of the check. */
const TRUNCATED_BYTES = 64 * 1024
const LARGE_ROWS = 5_000

/** The meta pages. */
const HEAD_BYTES = 16_384

/** Longer than the refresh interval of the catalogue. */
const REFRESH_MS = 25

describe('the catalogue', () => {
  let directory: string
  let catalog: Catalog
  let other: Catalog
  let reports: string[]

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    reports = []
    catalog = new Catalog(directory, { report: (event) => void reports.push(event) })
    other = new Catalog(directory)
  })
  afterEach(async () => {
    await Promise.all([catalog.close(), other.close()])
  })

  const publish = (by: Catalog, path = REGISTER) =>
    importDataset({
      dataDirectory: directory,
      catalog: by,
      path,
      publication: CRO_COMPANIES,
      now: () => new Date('2026-01-01T00:00:00Z'),
    })

  const currentFolder = () => snapshotFolder(directory, catalog.retrieval()?.snapshot_id ?? '')
  async function untilCurrent(): Promise<string | undefined> {
    while (catalog.current() === undefined) await sleep(REFRESH_MS)
    return catalog.current()?.snapshot.info.snapshot_id
  }

  it('[3.1] serves a snapshot that is truncated once it is repaired, without a restart', async () => {
    const path = join(directory, 'large.csv')
    await writeFile(path, toCsv(...numberedRows(LARGE_ROWS)))
    const { info } = await publish(other, path)
    const whole = `${directory}/whole`
    await cp(currentFolder(), whole, { recursive: true })
    await truncate(join(currentFolder(), 'data.mdb'), TRUNCATED_BYTES)
    expect(catalog.current()).to.equal(undefined)
    expect(reports).to.deep.equal(['dataset_unreadable'])
    await rm(currentFolder(), { recursive: true, force: true })
    await rename(whole, currentFolder())
    expect(await untilCurrent()).to.equal(info.snapshot_id)
  })

  it('reads a snapshot that replaces an open one of the same id, and keeps an open one whose folder is deleted', async () => {
    await publish(catalog)
    const folder = currentFolder()
    const first = catalog.current()?.snapshot
    await cp(folder, `${directory}/copy`, { recursive: true })
    await rm(folder, { recursive: true })
    await sleep(REFRESH_MS)
    expect(catalog.current()?.snapshot).to.equal(first)
    await rename(`${directory}/copy`, folder)
    await sleep(REFRESH_MS)
    expect(catalog.current()?.snapshot).not.to.equal(first)
    expect(catalog.current()?.snapshot.find('73848')).to.include({ legal_name: 'PLAIN FIXTURE LIMITED' })
    expect(reports).to.deep.equal([])
  })

  it('[3.1] has no dataset while an open file of it is damaged, and has one again when the file is repaired', async () => {
    await publish(catalog)
    const current = catalog.current()
    for (const folder of [currentFolder(), catalogFolder(directory)]) {
      const path = join(folder, 'data.mdb')
      const bytes = await readFile(path)
      await sleep(REFRESH_MS)
      expect(current?.snapshot.find('73848')).to.include({ legal_name: 'PLAIN FIXTURE LIMITED' })
      await sleep(REFRESH_MS)
      await writeFile(path, Buffer.concat([Buffer.alloc(HEAD_BYTES), bytes.subarray(HEAD_BYTES)]))
      if (folder === catalogFolder(directory)) expect(catalog.current()).to.equal(undefined)
      else expect(() => current?.snapshot.find('73848')).to.throw(StoreError, /its open file is damaged/)
      await writeFile(path, bytes)
    }
    expect(await untilCurrent()).not.to.equal(undefined)
    expect(reports).to.deep.equal(['dataset_unreadable'])
  })

  it('has no dataset while its entry is damaged, and has one again after the next publication', async () => {
    await publish(catalog)
    const environment = openEnvironment({ folder: catalogFolder(directory), kind: 'catalog' })
    await awaitWrite(environment.put('current', { snapshot_id: 1 }))
    await environment.close()
    await sleep(REFRESH_MS)
    expect(catalog.current()).to.equal(undefined)
    expect(catalog.retrieval()).to.equal(undefined)
    expect(reports).to.deep.equal(['dataset_unreadable'])
    await publish(catalog)
    expect(catalog.current()).not.to.equal(undefined)
  })
})
