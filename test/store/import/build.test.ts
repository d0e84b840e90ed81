/** The import of whole archives on a real LMDB: what is kept, what its id is, and what a failure leaves behind. */
import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { openCatalog, type Catalog } from '../../../store/catalog.ts'
import { BATCH_ROWS } from '../../../store/import/build.ts'
import { importDataset, type ImportResult } from '../../../store/import/run.ts'
import type { Row } from '../../../store/import/rows.ts'
import { buildingFolder, INFO_KEY, LAYOUT_KEY, LAYOUT_VERSION, snapshotFolder } from '../../../store/layout.ts'
import { openEnvironment } from '../../../store/open.ts'
import { CRO_COMPANIES } from '../../../store/source.ts'
import type { Snapshot } from '../../../store/snapshot.ts'
import { aRow, csvOf, HEADER, outcomeOf } from '../../support/register.ts'
import { zipOf } from '../../support/zip.ts'

const OWN_PROCESS = 100
const LIVING_PROCESS = 200
const DEAD_PROCESS = 300
const TOKEN = 'own-token'

describe('an import', () => {
  let directory: string
  let catalog: Catalog
  let now: Date

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'import-'))
    catalog = openCatalog(directory)
    now = new Date('2026-01-02T03:04:05.000Z')
  })

  afterEach(async () => {
    await catalog.close()
    await rm(directory, { recursive: true })
  })

  let files = 0

  async function importFile(content: string | Buffer): Promise<ImportResult> {
    const path = join(directory, 'archive')
    await writeFile(path, content)
    return importDataset({
      dataDirectory: directory,
      catalog,
      path,
      // Each file from elsewhere, so that it may have fewer rows than the one before.
      location: `file ${(files += 1)}`,
      publication: CRO_COMPANIES,
      processes: { own: OWN_PROCESS, token: TOKEN, isRunning: (process) => process === LIVING_PROCESS },
      now: () => now,
    })
  }

  const importRows = (...rows: Row[]) => importFile(csvOf(...rows))

  function current(): Snapshot {
    const dataset = catalog.current()
    if (!dataset) throw new Error('no dataset')
    return dataset.snapshot
  }

  const building = () => readdir(buildingFolder(directory)).catch(() => [])
  const snapshots = () => readdir(join(directory, 'snapshots')).catch(() => [])
  const numbers = () => [...current().entries()].map(([number]) => number)

  const one = aRow({ company_num: '1', company_name: 'ONE' })
  const two = aRow({ company_num: '2', company_name: 'TWO' })
  const three = aRow({ company_num: '3', company_name: 'THREE' })
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      aRow({ company_num: String(index + 1), company_name: `NUMBER ${index}` }),
    )

  it('is of nothing before the first', () => {
    expect(catalog.current()).to.equal(undefined)
    expect(catalog.retrieval()).to.equal(undefined)
  })

  it('publishes what it read, with its counts and its provenance', async () => {
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

  it('takes a real file of the register, with all its dirt', async () => {
    const { info } = await importFile(await readFile(new URL(import.meta.resolve('#root/test/fixtures/register.csv'))))
    expect(info.row_count).to.equal(info.company_count + info.rejected_row_count + repeats(info.findings))
    expect(numbers()).to.have.lengthOf(info.company_count + info.quarantined_company_count)
  })

  describe('of repeated numbers', () => {
    it('takes identical records as one company', async () => {
      const { info } = await importRows(one, two, one, { ...one, company_name: ' ONE ' })
      expect(info).to.deep.include({ row_count: 4, company_count: 2, quarantined_company_count: 0 })
      expect(info.findings).to.deep.equal({ row_repeated: 2 })
      expect(info.snapshot_id).to.equal((await importRows(one, two)).info.snapshot_id)
    })

    const other = { ...one, company_name: 'ANOTHER' }
    const third = { ...one, company_name: 'A THIRD' }
    for (const [what, rows] of [
      ['two that contradict', [one, other]],
      ['a third', [one, other, third]],
      ['one like the first after the contradiction', [one, other, one]],
      ['one like the first before it', [one, one, other]],
      ['the contradicting one twice', [one, other, other]],
    ] as const) {
      it(`quarantines the number whole: ${what}`, async () => {
        const { info } = await importRows(...rows, two)
        expect(info).to.deep.include({ company_count: 1, quarantined_company_count: 1, row_count: rows.length + 1 })
        expect(current().find('1')).to.equal('quarantined')
        expect(current().find('2')).to.deep.include({ legal_name: 'TWO' })
        const id = info.snapshot_id
        expect((await importRows(other, two, third)).info.snapshot_id).to.equal(id)
      })
    }

    it('finds them across the batches that rows are written in', async () => {
      const rows = many(BATCH_ROWS)
      const { info } = await importRows(
        ...rows,
        aRow({ company_num: '1', company_name: 'ANOTHER' }),
        ...rows.slice(1, 3),
      )
      expect(info).to.deep.include({ company_count: BATCH_ROWS - 1, quarantined_company_count: 1 })
      expect(info.findings).to.deep.equal({ row_contradicting: 1, row_repeated: 2 })
    })

    it('tells numbers apart by their leading zeros', async () => {
      await importRows(
        ...['1', '01', '001', '10'].map((company_num) => aRow({ company_num, company_name: company_num })),
      )
      expect(numbers()).to.deep.equal(['1', '01', '10', '001'])
      expect(current().find('01')).to.deep.include({ company_number: '01', legal_name: '01' })
      expect(current().find('0001')).to.equal(undefined)
    })
  })

  describe('gives an id', () => {
    const rows = [
      two,
      aRow({ company_num: '10' }),
      one,
      { ...one, company_name: 'ANOTHER' },
      aRow({ company_num: '02' }),
    ]

    it('that anyone can compute from the records: sorted RFC 8785 lines after the version', async () => {
      const { info } = await importRows(...rows)
      const lines = [...current().entries()]
        .map(([number, entry]) => (entry === 'quarantined' ? { company_number: number, quarantined: true } : entry))
        .toSorted(({ company_number: a }, { company_number: b }) => a.length - b.length || (a < b ? -1 : 1))
      const text = [{ normalisation: 'cro-3' }, ...lines].map((line) => `${canonicalize(line)}\n`).join('')
      expect(lines.map((line) => line.company_number)).to.deep.equal(['1', '2', '02', '10'])
      expect(info.snapshot_id).to.equal(`sha256:${createHash('sha256').update(text).digest('hex')}`)
      expect(await snapshots()).to.deep.equal([info.snapshot_id.replace('sha256:', '')])
    })

    it('that is the same in any row order, as CSV and as ZIP, and whatever characters there are', async () => {
      const odd = aRow({
        company_num: '5',
        company_name: 'Ó "\\ / \u2028 \uD83D\uDE00 <é>',
        company_address_1: '\uFFFD',
      })
      const id = (await importRows(...rows, odd)).info.snapshot_id
      expect((await importRows(odd, ...rows.toReversed())).info.snapshot_id).to.equal(id)
      expect((await importFile(`\uFEFF${csvOf(...rows, odd).replaceAll('\n', '\r\n')}`)).info.snapshot_id).to.equal(id)
      const zip = zipOf({ name: 'companies.csv', content: csvOf(...rows, odd) })
      expect((await importFile(zip)).info.snapshot_id).to.equal(id)
      expect(await snapshots()).to.have.lengthOf(1)
    })

    it('that hangs on no row that was rejected and on no batch', async () => {
      const full = many(BATCH_ROWS + 1)
      const id = (await importRows(...full)).info.snapshot_id
      const rejected = aRow({ company_name: '' })
      expect((await importRows(rejected, ...full.toReversed())).info.snapshot_id).to.equal(id)
    })

    it('that another value changes', async () => {
      const ids = new Set<string>()
      for (const change of [{}, { eircode: '' }, { company_address_2: '' }, { company_num: '073848' }]) {
        ids.add((await importRows(aRow(change), one)).info.snapshot_id)
      }
      expect(ids.size).to.equal(4)
    })
  })

  describe('that is refused', () => {
    const rejected = aRow({ company_num: 'x' })

    it('has more than one row in a hundred that can be no company', async () => {
      expect(await outcomeOf(importRows(...many(99), rejected))).to.equal('done')
      expect(await outcomeOf(importRows(...many(98), rejected))).to.equal('too_many_rejected')
      expect(await outcomeOf(importRows(...many(198), rejected, aRow({ company_name: ' ' })))).to.equal('done')
      expect(await outcomeOf(importRows(...many(197), rejected, aRow({ company_name: ' ' })))).to.equal(
        'too_many_rejected',
      )
    })

    it('has no company', async () => {
      expect(await outcomeOf(importFile(`${HEADER}\n`))).to.equal('no_companies')
      expect(await outcomeOf(importRows(one, { ...one, company_name: 'ANOTHER' }))).to.equal('no_companies')
    })

    for (const [what, fault, content] of [
      ['an empty file', 'wrong_header', ''],
      ['a web page', 'wrong_header', '<!DOCTYPE html>\n<html></html>\n'],
      ['a ZIP cut short', 'archive_damaged', zipOf({ name: 'a.csv', content: csvOf(one, two) }).subarray(0, 300)],
      ['a quote that is not closed', 'csv_malformed', `${csvOf(one, two)}3,"THREE\n`],
      ['only rows that are none', 'too_many_rejected', csvOf(rejected)],
    ] as const) {
      it(`leaves the last good snapshot and nothing else: ${what}`, async () => {
        const { info } = await importRows(one, two)
        const before = catalog.retrieval()
        now = new Date('2026-01-03T00:00:00.000Z')
        expect(await outcomeOf(importFile(content))).to.equal(fault)
        expect(catalog.retrieval()).to.deep.equal(before)
        expect(current().info).to.deep.equal(info)
        expect(current().find('1')).to.deep.include({ legal_name: 'ONE' })
        expect(await building()).to.deep.equal([])
        expect(await snapshots()).to.have.lengthOf(1)
      })
    }
  })

  describe('of the archive that is already served', () => {
    it('changes nothing but the time of retrieval', async () => {
      const first = await importRows(one, two)
      now = new Date('2026-01-03T00:00:00.000Z')
      const second = await importRows(one, two)
      expect(second).to.deep.equal({ info: first.info, changed: false })
      expect(catalog.current()?.source.retrieved_at).to.equal('2026-01-03T00:00:00.000Z')
      expect(current().info.imported_at).to.equal('2026-01-02T03:04:05.000Z')
    })

    it('builds its snapshot again when that was lost', async () => {
      const { info } = await importRows(one, two)
      await catalog.close()
      await rm(snapshotFolder(directory, info.snapshot_id), { recursive: true })
      catalog = openCatalog(directory)
      expect(() => catalog.current()).to.throw(/No such file|no such file/)
      expect((await importRows(one, two)).changed).to.equal(true)
      expect(current().find('1')).to.deep.include({ legal_name: 'ONE' })
    })
  })

  it('builds the snapshot again that another version has laid out', async () => {
    const { info } = await importRows(one, two)
    await catalog.close()
    const folder = snapshotFolder(directory, info.snapshot_id)
    const environment = openEnvironment({ folder, kind: 'snapshot' })
    await environment.put(LAYOUT_KEY, { kind: 'snapshot', version: LAYOUT_VERSION.snapshot - 1 })
    await environment.close()
    catalog = openCatalog(directory)
    expect(() => catalog.current()).to.throw(/layout version/)
    expect(await importRows(one, two)).to.deep.include({ changed: true })
    expect(current().find('1')).to.deep.include({ legal_name: 'ONE' })
  })

  it('serves the snapshot that older rules have made, until the same archive is read again by these', async () => {
    const { info } = await importRows(one, two)
    const older = { ...info, snapshot_id: `sha256:${'0'.repeat(64)}`, normalisation: 'cro-0' }
    const folder = snapshotFolder(directory, older.snapshot_id)
    await cp(snapshotFolder(directory, info.snapshot_id), folder, { recursive: true })
    const environment = openEnvironment({ folder, kind: 'snapshot' })
    await environment.put(INFO_KEY, older)
    await environment.close()
    const retrieval = catalog.retrieval()
    if (!retrieval) throw new Error('no retrieval')
    await catalog.publish({ ...retrieval, snapshot_id: older.snapshot_id })
    await catalog.close()
    catalog = openCatalog(directory)
    expect(current().info).to.deep.equal(older)
    expect(current().find('1')).to.deep.include({ legal_name: 'ONE' })

    expect(await importRows(one, two)).to.deep.include({ changed: true })
    expect(current().info).to.deep.equal(info)
    expect(await importRows(one, two)).to.deep.include({ changed: false })
  })

  it('removes what dead processes left, but nothing of a living one or its own', async () => {
    const names = [OWN_PROCESS, LIVING_PROCESS, DEAD_PROCESS].map((process) => `${process}-${TOKEN}-0`)
    for (const name of names) await mkdir(join(buildingFolder(directory), name), { recursive: true })
    await writeFile(join(buildingFolder(directory), `${DEAD_PROCESS}-${TOKEN}-0`, 'data.mdb'), 'x')
    await importRows(one)
    expect(await building()).to.have.members(names.slice(0, 2))
  })

  it('removes what a dead process of its own number left, once nothing is written there any more', async () => {
    const folders = ['other-token-0', `${TOKEN}-0`].map((name) =>
      join(buildingFolder(directory), `${OWN_PROCESS}-${name}`),
    )
    for (const folder of folders) {
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, 'data.mdb'), 'x')
    }
    const [left = '', own = ''] = folders.map((folder) => basename(folder))
    const lastWritten = (await stat(join(folders[0] ?? '', 'data.mdb'))).mtime
    const minute = 60_000
    now = new Date(lastWritten.getTime() + 9 * minute)
    await importRows(one)
    expect(await building()).to.have.members([left, own])
    now = new Date(lastWritten.getTime() + 11 * minute)
    await importRows(two)
    expect(await building()).to.deep.equal([own])
  })

  it('of two at a time keeps one snapshot whole', async () => {
    const path = join(directory, 'twin')
    await writeFile(path, csvOf(one, two))
    const processes = { own: OWN_PROCESS, token: TOKEN, isRunning: () => true }
    const request = { dataDirectory: directory, catalog, path, publication: CRO_COMPANIES, processes, now: () => now }
    await Promise.all([importDataset(request), importDataset(request)])
    expect(numbers()).to.deep.equal(['1', '2'])
    expect(await building()).to.deep.equal([])
  })

  describe('removes snapshots', () => {
    const hour = 60 * 60 * 1000
    const later = () => void (now = new Date(now.getTime() + hour))
    const folderOf = ({ info }: ImportResult) => info.snapshot_id.replace('sha256:', '')

    it('but the current and the previous one', async () => {
      await importRows(one)
      later()
      const before = await importRows(two)
      later()
      const after = await importRows(three)
      expect(await snapshots()).to.have.members([folderOf(before), folderOf(after)])
      later()
      await importRows(three)
      expect(await snapshots()).to.have.members([folderOf(before), folderOf(after)])
    })

    it('but those that this process has open', async () => {
      await importRows(one)
      const held = current()
      for (const row of [two, three]) {
        later()
        await importRows(row)
      }
      expect(held.find('1')).to.deep.include({ legal_name: 'ONE' })
      expect(await snapshots()).to.have.lengthOf(3)
    })

    it('but one that was kept a moment ago: its import may be about to publish it', async () => {
      const other = await importRows(one)
      for (const row of [two, three]) await importRows(row)
      expect(await snapshots()).to.include(folderOf(other))
    })
  })

  describe('switches', () => {
    it('while whoever holds the snapshot before goes on reading it', async () => {
      await importRows(one)
      const held = current()
      await importRows(two)
      expect(current().find('1')).to.equal(undefined)
      expect(held.find('1')).to.deep.include({ legal_name: 'ONE' })
      expect(held.find('2')).to.equal(undefined)
    })

    it('back to an earlier snapshot, and on, without closing the one that was read last', async () => {
      await importRows(one)
      current()
      await importRows(two)
      current()
      await importRows(one)
      const held = current()
      await importRows(three)
      current()
      expect(held.find('1')).to.deep.include({ legal_name: 'ONE' })
    })

    it('on from the one before: reading that is an error, and not the end of the process', async () => {
      await importRows(one)
      const held = current()
      for (const row of [two, three]) {
        await importRows(row)
        current()
      }
      expect(() => held.find('1')).to.throw()
    })

    it('nothing for a reader by importing its snapshot again in another form', async () => {
      await importRows(one, two)
      const held = current()
      await importRows(two, one)
      expect(held.find('1')).to.deep.include({ legal_name: 'ONE' })
      expect(current()).to.equal(held)
    })

    it('what another catalogue of the same folder reads next', async () => {
      await importRows(one)
      const other = openCatalog(directory)
      expect(other.current()?.snapshot.find('1')).to.deep.include({ legal_name: 'ONE' })
      await importRows(two)
      expect(other.current()?.snapshot.find('2')).to.deep.include({ legal_name: 'TWO' })
      await other.close()
    })
  })
})

/** Rows that are no company of their own. */
function repeats(findings: Record<string, number>): number {
  return (findings['row_repeated'] ?? 0) + 2 * (findings['row_contradicting'] ?? 0)
}
