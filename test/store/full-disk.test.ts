/** A full disk: an awaited write rejects, earlier writes stay, and the process continues. */
import { execFile } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { Catalog } from '../../store/dataset/catalog.ts'
import { importDataset } from '../../store/import/run.ts'
import { buildingFolder } from '../../store/files/layout.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { CRO_COMPANIES } from '../../store/dataset/source.ts'
import { withFileLimit } from '../support/child.ts'
import type { DiskReport } from '../programs/fill-disk.ts'
import { makeRecord } from '../support/records.ts'
import { registerRow, toCsv } from '../support/register.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { countOpen } from '../../store/log/responses.ts'

const FILL_DISK = fileURLToPath(import.meta.resolve('../programs/fill-disk.js'))

/** In blocks of 512 bytes (POSIX): at most 512 KiB per file. */
const FILE_BLOCKS_MAX = 1_024

/** Simulates a full disk by a limit on file sizes: a write fails with EFBIG. */
async function fillDisk(...args: string[]): Promise<DiskReport> {
  const [shell = '', ...limit] = withFileLimit(FILE_BLOCKS_MAX)
  const { stdout } = await promisify(execFile)(shell, [...limit, process.execPath, FILL_DISK, ...args])
  return JSON.parse(stdout) as DiskReport
}

describe('a full disk', function () {
  let directory: string

  before(function () {
    if (process.platform === 'win32') this.skip()
  })

  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('rejects a claim and keeps the earlier records', async () => {
    const { failure, written, readable, unhandled } = await fillDisk(directory)
    expect(failure).to.equal('StoreError')
    expect(written).to.be.greaterThan(10)
    expect(readable).to.equal(written)
    // Each of the two failed batches leaves one rejected promise that no code can reach (lmdb, write.js).
    expect(unhandled).to.have.lengthOf.at.most(2)
    for (const each of unhandled) expect(each).to.equal('Error: Commit failed (see commitError for details)')
    const log = new LmdbResponseLog(directory)
    expect(await countOpen(log)).to.equal(written)
    const late = makeRecord({ identity: 'late' })
    expect(await log.claim(late)).to.deep.equal({ kind: 'claimed', record: late })
    await log.close()
  })

  it('rejects an import, keeps the current snapshot and leaves no folder', async () => {
    const path = join(directory, 'companies.csv')
    await writeFile(path, toCsv(registerRow({ company_num: '0' })))
    const request = {
      dataDirectory: directory,
      path,
      publication: CRO_COMPANIES,
      now: () => new Date('2026-01-01T00:00:00.000Z'),
    }
    const before = new Catalog(directory)
    await importDataset({ ...request, catalog: before })
    await before.close()
    await writeFile(
      path,
      toCsv(...Array.from({ length: 8_000 }, (_, index) => registerRow({ company_num: `${index}` }))),
    )
    expect(await fillDisk(directory, path)).to.deep.equal({
      failure: 'StoreError',
      written: 0,
      readable: 1,
      unhandled: [],
    })
    expect(await readdir(buildingFolder(directory))).to.deep.equal([])
    const after = new Catalog(directory)
    expect((await importDataset({ ...request, catalog: after })).info.company_count).to.equal(8_000)
    await after.close()
  })
})
