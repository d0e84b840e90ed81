/** A full disk: a write fails where it is awaited, what was written before stays, and the process lives. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { openCatalog } from '../../store/catalog.ts'
import { importDataset } from '../../store/import/run.ts'
import { buildingFolder } from '../../store/layout.ts'
import { openResponseLog } from '../../store/responses.ts'
import { CRO_COMPANIES } from '../../store/source.ts'
import { fileLimit } from '../support/child.ts'
import type { DiskReport } from '../support/fill-disk.ts'
import { aRecord } from '../support/records.ts'
import { aRow, csvOf } from '../support/register.ts'

const FILL_DISK = fileURLToPath(import.meta.resolve('../support/fill-disk.js'))

/** In blocks of 512 bytes, as POSIX has it: 512 KiB for any one file. */
const FILE_BLOCKS_MAX = 1_024

/** Runs the process under a limit on file sizes, which stands in for a disk's end: the write fails with EFBIG. */
async function fillDisk(...args: string[]): Promise<DiskReport> {
  const command = ['-c', fileLimit(FILE_BLOCKS_MAX), process.execPath, FILL_DISK, ...args]
  const { stdout } = await promisify(execFile)('sh', command)
  return JSON.parse(stdout) as DiskReport
}

describe('a full disk', function () {
  let directory: string

  before(function () {
    if (process.platform === 'win32') this.skip()
  })

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'full-disk-'))
  })

  afterEach(() => rm(directory, { recursive: true }))

  it('fails a claim, keeps the records before it, and rejects nothing else but LMDB’s own batches', async () => {
    const { failure, written, readable, unhandled } = await fillDisk(directory)
    expect(failure).to.equal('StoreError')
    expect(written).to.be.greaterThan(10)
    expect(readable).to.equal(written)
    // Two batches fail, and each leaves one promise that nobody can hold: lmdb's write.js, where an event turn's batch ends.
    expect(unhandled).to.have.lengthOf.at.most(2)
    for (const each of unhandled) expect(each).to.equal('Error: Commit failed (see commitError for details)')
    const log = openResponseLog(directory)
    expect(await log.unfinished()).to.have.lengthOf(written)
    const late = aRecord({ identity: 'late' })
    expect(await log.claim(late)).to.deep.equal({ claimed: true, record: late })
    await log.close()
  })

  it('fails an import, which leaves the snapshot before it and no folder', async () => {
    const path = join(directory, 'companies.csv')
    await writeFile(path, csvOf(aRow()))
    const request = {
      dataDirectory: directory,
      path,
      publication: CRO_COMPANIES,
      processes: { own: process.pid, token: 'test', isRunning: () => true },
      now: () => new Date('2026-01-01T00:00:00.000Z'),
    }
    const before = openCatalog(directory)
    await importDataset({ ...request, catalog: before })
    await before.close()
    await writeFile(path, csvOf(...Array.from({ length: 8_000 }, (_, index) => aRow({ company_num: `${index}` }))))
    expect(await fillDisk(directory, path)).to.deep.equal({
      failure: 'StoreError',
      written: 0,
      readable: 1,
      unhandled: [],
    })
    expect(await readdir(buildingFolder(directory))).to.deep.equal([])
    const after = openCatalog(directory)
    expect((await importDataset({ ...request, catalog: after })).info.company_count).to.equal(8_000)
    await after.close()
  })
})
