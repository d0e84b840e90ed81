/** A nearly full disk: no new work begins, and work that has begun is finished. */
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { buildFile } from '../../../store/import/build.ts'
import { downloadArchive } from '../../../store/import/download.ts'
import { buildingFolder } from '../../../store/files/layout.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import { FREE_BYTES_MIN } from '../../../store/files/disk-space.ts'
import { sendBody, startPortal } from '../../support/portal.ts'
import { makeRecord } from '../../support/records.ts'
import { registerRow, toCsv } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const nameOf = (cause: unknown) => (cause instanceof Error ? cause.name : '')

describe('a nearly full disk', () => {
  let directory: string

  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('[8.13] rejects a new claim and still advances existing records', async () => {
    let free = FREE_BYTES_MIN.sale
    const log = new LmdbResponseLog(directory, { freeBytes: () => free })
    const begun = makeRecord({})
    expect((await log.claim(begun)).kind).to.equal('claimed')
    await log.close()
    free -= 1
    const full = new LmdbResponseLog(directory, { freeBytes: () => free })
    expect(await full.claim(makeRecord({ identity: 'late' })).catch(nameOf)).to.equal('DiskSpaceError')
    expect(await full.read('late')).to.equal(undefined)
    const settled = await full.advance(begun, {
      state: 'settled',
      payment_response: 'e30=',
      updated_at: begun.updated_at,
    })
    expect(await full.read(begun.identity)).to.deep.equal(settled)
    expect(settled?.state).to.equal('settled')
    await full.close()
  })

  it('rejects an import earlier than a sale, and leaves no folder', async () => {
    const path = join(directory, 'companies.csv')
    await writeFile(path, toCsv(registerRow()))
    const request = { dataDirectory: directory, path, importedAt: '2026-01-01T00:00:00.000Z' }
    const buildWith = (free: number) => buildFile(request, { freeBytes: () => free })
    expect(FREE_BYTES_MIN.import).to.be.greaterThan(FREE_BYTES_MIN.sale)
    expect(await buildWith(FREE_BYTES_MIN.import - 1).catch(nameOf)).to.equal('DiskSpaceError')
    expect(await readdir(buildingFolder(directory))).to.deep.equal([])
    expect(await buildWith(FREE_BYTES_MIN.import)).to.include({ company_count: 1 })
  })

  it('stops a download earlier than a sale', async () => {
    const portal = await startPortal()
    portal.on('/companies.csv', sendBody(toCsv(registerRow())))
    const folder = join(directory, 'download')
    const location = `${portal.url}/companies.csv`
    const downloadWith = (free: number) =>
      downloadArchive({ location, folder, validators: null }, { freeBytes: () => free })
    expect(await downloadWith(FREE_BYTES_MIN.import - 1).catch(nameOf)).to.equal('DiskSpaceError')
    await rm(folder, { recursive: true })
    expect(await downloadWith(FREE_BYTES_MIN.import)).to.include({ path: join(folder, 'archive') })
    await portal.close()
  })
})
