/** Tests of whole imports on a real LMDB: the stored snapshot, its id, failures, pruning and the switch. */
import { cp, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { buildFile } from '../../../store/import/build.ts'
import { importDataset, type ImportResult } from '../../../store/import/run.ts'
import type { RegisterRow } from '../../../store/import/rows.ts'
import { buildingFolder, INFO_KEY, snapshotFolder } from '../../../store/files/layout.ts'
import { openEnvironment } from '../../../store/files/environment.ts'
import { CRO_COMPANIES } from '../../../store/dataset/source.ts'
import type { Snapshot } from '../../../store/dataset/snapshot.ts'
import { registerRow, toCsv, numberedRows, outcomeOf } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('an import', () => {
  let directory: string
  let catalog: Catalog
  let now: Date

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    catalog = new Catalog(directory)
    now = new Date('2026-01-02T03:04:05.000Z')
  })

  afterEach(() => catalog.close())

  let files = 0

  async function importFile(
    content: string | Buffer,
    change: Partial<Parameters<typeof importDataset>[0]> = {},
  ): Promise<ImportResult> {
    const path = join(directory, 'archive')
    await writeFile(path, content)
    const retrievedAt = now
    // The journal keeps one file per retrieval time.
    now = new Date(retrievedAt.getTime() + 1)
    return importDataset({
      dataDirectory: directory,
      catalog,
      path,
      // A new location for each file, so that it may have fewer rows than the one before.
      location: `file ${(files += 1)}`,
      publication: CRO_COMPANIES,
      now: () => retrievedAt,
      ...change,
    })
  }

  const importRows = (...rows: RegisterRow[]) => importFile(toCsv(...rows))

  function current(): Snapshot {
    const dataset = catalog.current()
    if (!dataset) throw new Error('no dataset')
    return dataset.snapshot
  }

  async function writeInto(folder: string, key: string, value: unknown): Promise<void> {
    const environment = openEnvironment({ folder, kind: 'snapshot' })
    await environment.put(key, value)
    await environment.close()
  }

  const building = () => readdir(buildingFolder(directory)).catch(() => [])
  const snapshots = () => readdir(join(directory, 'snapshots')).catch(() => [])

  const one = registerRow({ company_num: '1', company_name: 'ONE' })
  const two = registerRow({ company_num: '2', company_name: 'TWO' })
  const three = registerRow({ company_num: '3', company_name: 'THREE' })
  it('publishes the companies with their counts and provenance', async () => {
    const { info, changed } = await importRows(one, two, { ...three, company_reg_date: 'x', nard: 'y' })
    expect(changed).to.equal(true)
    expect(info).to.deep.include({
      row_count: 3,
      company_count: 3,
      quarantined_company_count: 0,
      rejected_row_count: 0,
      imported_at: '2026-01-02T03:04:05.000Z',
      findings: { date_malformed: 2 },
    })
    expect(current().info).to.deep.equal(info)
    expect(catalog.current()?.source).to.deep.equal({
      ...CRO_COMPANIES,
      retrieved_at: '2026-01-02T03:04:05.000Z',
      source_updated_at: null,
    })
    expect(current().find('2')).to.deep.include({ company_number: '2', legal_name: 'TWO' })
    expect(current().find('4')).to.equal(undefined)
    expect(await building()).to.deep.equal([])
  })

  describe('with repeated numbers', () => {
    it('[11.3] stores identical records as one company', async () => {
      const { info } = await importRows(one, two, one, { ...one, company_name: ' ONE ' })
      expect(info).to.deep.include({ row_count: 4, company_count: 2, quarantined_company_count: 0 })
      expect(info.findings).to.deep.equal({ row_repeated: 2 })
      expect(info.snapshot_id).to.equal((await importRows(one, two)).info.snapshot_id)
    })

    const other = { ...one, company_name: 'ANOTHER' }
    const third = { ...one, company_name: 'A THIRD' }
    for (const [what, rows] of [
      ['three different records', [one, other, third]],
      ['the first record twice before a different one', [one, one, other]],
      ['the different record twice', [one, other, other]],
    ] as const) {
      it(`[11.3] quarantines the number: ${what}`, async () => {
        const { info } = await importRows(...rows, two)
        expect(info).to.deep.include({ company_count: 1, quarantined_company_count: 1, row_count: rows.length + 1 })
        expect(current().find('1')).to.equal('quarantined')
        expect(current().find('2')).to.deep.include({ legal_name: 'TWO' })
        const id = info.snapshot_id
        expect((await importRows(other, two, third)).info.snapshot_id).to.equal(id)
      })
    }
  })

  describe('is refused', () => {
    const rejected = registerRow({ company_num: 'x' })

    it('[11.2] with more than 1 % rejected rows', async () => {
      const nameless = registerRow({ company_name: ' ' })
      for (const [valid, invalid] of [
        [99, [rejected]],
        [198, [rejected, nameless]],
      ] as const) {
        expect(await outcomeOf(importRows(...numberedRows(valid), ...invalid))).to.equal('done')
        expect(await outcomeOf(importRows(...numberedRows(valid - 1), ...invalid))).to.equal('too_many_rejected')
        expect(await building()).to.deep.equal([])
      }
    })

    it('[11.2] with fewer companies than the minimum', async () => {
      const path = join(directory, 'four.csv')
      await writeFile(path, toCsv(...numberedRows(4)))
      const request = { dataDirectory: directory, path, importedAt: now.toISOString() }
      expect(await outcomeOf(buildFile({ ...request, companiesMin: 5 }))).to.equal('too_few_companies')
      expect(await outcomeOf(buildFile({ ...request, companiesMin: 4 }))).to.equal('done')
    })
  })

  it('[11.6] counts the numbers that were added and removed, and those with another record', async () => {
    const first = await importRows(...numberedRows(5))
    expect(first.changes).to.equal(null)
    const second = await importRows(
      ...numberedRows(4, 2),
      registerRow({ company_num: '5', company_name: 'ANOTHER' }),
      registerRow({ company_num: '3', company_name: 'NUMBER 3', eircode: '' }),
      ...numberedRows(2, 10),
    )
    // 1 is removed, 3 and 5 are quarantined, 10 and 11 are added.
    expect(second.changes).to.include({ added: 2, removed: 1, changed: 2 })
    expect(catalog.retrieval()?.changes).to.deep.equal({
      previous_snapshot_id: first.info.snapshot_id,
      added: 2,
      removed: 1,
      changed: 2,
    })
    const reordered = await importRows(
      ...numberedRows(2, 10),
      registerRow({ company_num: '5', company_name: 'ANOTHER' }),
      ...numberedRows(4, 2),
      registerRow({ company_num: '3', company_name: 'NUMBER 3', eircode: '' }),
    )
    expect(reordered).to.deep.include({ changed: true, changes: null })
    expect(catalog.retrieval()?.changes).to.deep.include({ added: 2, removed: 1, changed: 2 })
  })

  it('[11.6] reports another snapshot once, whichever process has imported it', async () => {
    const seen: unknown[] = []
    await importRows(...numberedRows(2))
    const service = new Catalog(directory, { onChange: ({ changes }) => void seen.push(changes) })
    expect(service.current()).not.to.equal(undefined)
    expect(seen).to.deep.equal([])
    const { info } = await importRows(...numberedRows(3))
    while (service.current()?.snapshot.info.snapshot_id !== info.snapshot_id) await sleep(5)
    await sleep(20)
    expect(service.current()?.snapshot.info).to.deep.equal(info)
    expect(seen).to.have.lengthOf(1)
    expect(seen[0]).to.include({ added: 1, removed: 0, changed: 0 })
    await service.close()
  })

  it('serves a snapshot of older normalisation rules until the same archive is imported again', async () => {
    const { info } = await importRows(one, two)
    const older = { ...info, snapshot_id: `sha256:${'0'.repeat(64)}`, normalisation: 'cro-0' }
    const folder = snapshotFolder(directory, older.snapshot_id)
    await cp(snapshotFolder(directory, info.snapshot_id), folder, { recursive: true })
    await writeInto(folder, INFO_KEY, older)
    const retrieval = catalog.retrieval()
    if (!retrieval) throw new Error('no retrieval')
    await catalog.publish({ ...retrieval, snapshot_id: older.snapshot_id })
    await catalog.close()
    catalog = new Catalog(directory)
    expect(current().info).to.deep.equal(older)
    expect(current().find('1')).to.deep.include({ legal_name: 'ONE' })

    expect(await importRows(one, two)).to.deep.include({ changed: true })
    expect(current().info).to.deep.equal(info)
    expect(await importRows(one, two)).to.deep.include({ changed: false })
  })

  it('removes a build that is untouched for ten minutes', async () => {
    const abandoned = join(buildingFolder(directory), 'abandoned')
    await mkdir(abandoned, { recursive: true })
    await writeFile(join(abandoned, 'data.mdb'), 'x')
    const lastWritten = (await stat(join(abandoned, 'data.mdb'))).mtime.getTime()
    const minute = 60_000
    now = new Date(lastWritten + 9 * minute)
    await importRows(one)
    expect(await building()).to.deep.equal(['abandoned'])
    now = new Date(lastWritten + 11 * minute)
    await importRows(two)
    expect(await building()).to.deep.equal([])
  })

  describe('removes all snapshots', () => {
    const hour = 60 * 60 * 1000
    const passAnHour = () => void (now = new Date(now.getTime() + hour))
    // The age of a folder is that of its files.
    beforeEach(() => void (now = new Date()))
    const folderOf = ({ info }: ImportResult) => info.snapshot_id.replace('sha256:', '')

    it('but the current and the previous one', async () => {
      await importRows(one)
      passAnHour()
      const before = await importRows(two)
      passAnHour()
      const after = await importRows(three)
      expect(await snapshots()).to.have.members([folderOf(before), folderOf(after)])
      passAnHour()
      await importRows(three)
      expect(await snapshots()).to.have.members([folderOf(before), folderOf(after)])
    })

    it('but the open ones', async () => {
      await importRows(one)
      const previous = current()
      for (const row of [two, three]) {
        passAnHour()
        await importRows(row)
      }
      expect(previous.find('1')).to.deep.include({ legal_name: 'ONE' })
      expect(await snapshots()).to.have.lengthOf(3)
    })
  })

  it('switches twice, after which reading the first snapshot is an error and not a crash', async () => {
    await importRows(one)
    const previous = current()
    for (const row of [two, three]) {
      await importRows(row)
      current()
    }
    expect(() => previous.find('1')).to.throw()
  })
})
