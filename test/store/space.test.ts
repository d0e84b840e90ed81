/** A nearly full disk: nothing new begins, and what was begun is written to its end. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openCatalog } from '../../store/catalog.ts'
import { buildFile } from '../../store/import/build.ts'
import { importDataset } from '../../store/import/run.ts'
import { buildingFolder } from '../../store/layout.ts'
import { StoreError } from '../../store/open.ts'
import { openResponseLog } from '../../store/responses.ts'
import { CRO_COMPANIES } from '../../store/source.ts'
import { freeBytes, RESERVE_BYTES, reserveIn } from '../../store/space.ts'
import { openWindow } from '../../store/window.ts'
import { aRecord } from '../support/records.ts'
import { aRow, csvOf } from '../support/register.ts'

const nameOf = (cause: unknown) => (cause instanceof Error ? cause.name : '')

describe('a nearly full disk', () => {
  let directory: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'space-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  it('is one with less than the reserve, looked at once a second at most', () => {
    const asked: string[] = []
    const check = (free: number) =>
      reserveIn('there', 100, (folder) => {
        asked.push(folder)
        return free
      })
    for (const enough of [100, 101]) expect(check(enough)).not.to.throw()
    const short = check(99)
    for (let times = 0; times < 20; times += 1) expect(short).to.throw(StoreError, /^there: less than [^\n]* free/)
    expect(asked).to.deep.equal(['there', 'there', 'there'])
  })

  it('is told from a real one, and from what nobody can tell', () => {
    expect(freeBytes(directory)).to.be.within(1, 2 ** 60)
    expect(freeBytes(join(directory, 'nowhere'))).to.equal(Infinity)
  })

  it('takes no new sale, and brings those that were begun to their end', async () => {
    let free = RESERVE_BYTES.sale
    const log = openResponseLog(directory, { freeBytes: () => free })
    const begun = aRecord({})
    expect((await log.claim(begun)).claimed).to.equal(true)
    await log.close()
    free -= 1
    const full = openResponseLog(directory, { freeBytes: () => free })
    expect(await full.claim(aRecord({ identity: 'late' })).catch(nameOf)).to.equal('StoreError')
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

  it('leaves the shared window of the rate limit alone', async () => {
    const window = openWindow(directory, { freeBytes: () => RESERVE_BYTES.sale - 1 })
    expect(() => window.alone(() => undefined)).to.throw(StoreError)
    await window.close()
  })

  it('fails an import before sales are short of room, and leaves nothing of it', async () => {
    const path = join(directory, 'companies.csv')
    await writeFile(path, csvOf(aRow()))
    const catalog = openCatalog(directory)
    const importWith = (free: number) =>
      importDataset({
        dataDirectory: directory,
        catalog,
        path,
        publication: CRO_COMPANIES,
        processes: { own: process.pid, token: 'test', isRunning: () => true },
        now: () => new Date('2026-01-01T00:00:00.000Z'),
        build: (file) => buildFile({ ...file, freeBytes: () => free }),
      })
    expect(RESERVE_BYTES.import).to.be.greaterThan(RESERVE_BYTES.sale)
    expect(await importWith(RESERVE_BYTES.import - 1).catch(nameOf)).to.equal('StoreError')
    expect(await readdir(buildingFolder(directory))).to.deep.equal([])
    expect(catalog.current()).to.equal(undefined)
    expect(((await importWith(RESERVE_BYTES.import)) as { changed: boolean }).changed).to.equal(true)
    await catalog.close()
  })
})
