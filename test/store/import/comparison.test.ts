/** Tests of the judgement of a new file by what it changes (contract 11.11), with whole imports. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { DAY_MS } from '../../../base/day.ts'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { CRO_COMPANIES } from '../../../store/dataset/source.ts'
import { openEnvironment } from '../../../store/files/environment.ts'
import { companyKey, COMPANIES_DATABASE, INFO_KEY, snapshotFolder } from '../../../store/files/layout.ts'
import type { RegisterRow } from '../../../store/import/rows.ts'
import { importDataset } from '../../../store/import/run.ts'
import { numberedRows, outcomeOf, registerRow, toCsv } from '../../support/register.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const ROWS = 1_200

const withName = (row: RegisterRow, company_name: string) => registerRow({ ...row, company_name })
const register = numberedRows(ROWS)
const changed = (count: number, change: (row: RegisterRow) => Partial<RegisterRow>) =>
  toCsv(...register.map((row, index) => (index < ROWS - count ? row : Object.assign({}, row, change(row)))))

describe('a file of the register', () => {
  let directory: string
  let catalog: Catalog
  let clock: number

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    catalog = new Catalog(directory)
    clock = Date.parse('2026-01-02T03:04:05Z')
  })
  afterEach(() => catalog.close())

  async function importFile(content: string | Buffer, change: Partial<Parameters<typeof importDataset>[0]> = {}) {
    const path = join(directory, 'register.csv')
    await writeFile(path, content)
    const now = new Date((clock += 1_000))
    const request = { dataDirectory: directory, catalog, path, publication: CRO_COMPANIES, now: () => now }
    return importDataset({ ...request, ...change })
  }

  const isPublished = async (content: string | Buffer) => {
    const outcome = await outcomeOf(importFile(content))
    expect(outcome).to.be.oneOf(['done', 'changes_refused'])
    return outcome === 'done'
  }

  describe('that follows another one', () => {
    beforeEach(() => importFile(toCsv(...register)))

    const BAD: [what: string, content: string | Buffer][] = [
      [
        'has numbers padded with zeros',
        changed(ROWS, ({ company_num }) => ({ company_num: company_num.padStart(7, '0') })),
      ],
      [
        'has two address columns swapped',
        changed(ROWS, (row) => ({
          company_address_2: row.company_address_3,
          company_address_3: row.company_address_2,
        })),
      ],
    ]
    for (const [what, content] of BAD) {
      it(`[11.11] is refused if it ${what}, unless its changes are accepted`, async () => {
        const before = catalog.retrieval()
        expect(await outcomeOf(importFile(content))).to.equal('changes_refused')
        expect(catalog.retrieval()).to.deep.equal(before)
        expect(catalog.current()?.snapshot.find('1')).to.include({ legal_name: 'NUMBER 1' })
        await importFile(content, { areChangesAccepted: true })
        expect(catalog.retrieval()?.snapshot_id).to.not.equal(before?.snapshot_id)
      })
    }

    it('[11.11] is refused with the figures and the limits of every rule that it breaks', async () => {
      const content = changed(ROWS, () => ({ company_name: 'OTHER', nace_v2_code: '' }))
      const error = await importFile(
        content
          .split('\n')
          .slice(0, 1 + 1_000)
          .join('\n'),
      ).catch((cause: unknown) => cause)
      expect(error).to.have.property(
        'message',
        '83.3 % of 1200 companies are still there (at least 90.0 %); ' +
          '100.0 % of them change in name, status, address or a date (at most 20.0 %); import --accept-changes publishes it',
      )
    })

    it('[11.11] may lose a tenth of the companies', async () => {
      expect(await isPublished(toCsv(...register.slice(0, 0.9 * ROWS - 1)))).to.equal(false)
      expect(await isPublished(toCsv(...register.slice(0, 0.9 * ROWS)))).to.equal(true)
    })

    for (const column of ['company_name', 'nard'] as const) {
      it(`[11.11] may change ${column} in a fifth of the records`, async () => {
        const change = { company_name: 'OTHER', nard: '2026-10-01' }
        const withChanges = (count: number) => changed(count, () => ({ [column]: change[column] }))
        expect(await isPublished(withChanges(0.2 * ROWS + 1))).to.equal(false)
        expect(await isPublished(withChanges(0.2 * ROWS))).to.equal(true)
      })
    }

    it('[11.11] may change a tenth more for each further day since the last import', async () => {
      clock += 3 * DAY_MS
      const withChanges = (count: number) => changed(count, () => ({ company_name: 'OTHER' }))
      expect(await isPublished(withChanges(0.4 * ROWS + 1))).to.equal(false)
      expect(await isPublished(withChanges(0.4 * ROWS))).to.equal(true)
    })

    it('[11.11] is published with the same figures if it is from another location', async () => {
      const { compared } = await importFile(toCsv(...numberedRows(ROWS, 900_000)), { location: 'another' })
      expect(compared[0]).to.include({ isBeyond: true })
      expect(compared[0]?.text).to.match(/^0\.0 % of 1200 companies are still there/)
    })

    it('[11.11] is judged by its numbers alone after other rules of normalisation', async () => {
      const { info } = catalog.current()?.snapshot ?? expect.fail('no dataset')
      await edit(async (environment) => {
        await environment.put(INFO_KEY, { ...info, normalisation: 'cro-0' })
      })
      expect(await isPublished(toCsv(...register.slice(0, 1_000)))).to.equal(false)
      expect(await isPublished(changed(ROWS, () => ({ company_name: 'OTHER' })))).to.equal(true)
    })

    it('is compared with the records of a damaged snapshot that can be read', async () => {
      await edit(async (environment) => {
        const companies = environment.openDB<Buffer, string>({ name: COMPANIES_DATABASE, encoding: 'binary' })
        await companies.put(companyKey('7'), Buffer.from('damaged'))
      })
      const { compared } = await importFile(changed(1, () => ({ company_name: 'OTHER' })))
      expect(compared[0]?.text).to.match(/^100\.0 % of 1199 companies/)
    })

    /** Changes the served snapshot on disk. */
    async function edit(change: (environment: ReturnType<typeof openEnvironment>) => Promise<void>): Promise<void> {
      const folder = snapshotFolder(directory, catalog.retrieval()?.snapshot_id ?? '')
      await catalog.close()
      const environment = openEnvironment({ folder, kind: 'snapshot' })
      await change(environment)
      await environment.close()
      catalog = new Catalog(directory)
    }
  })

  it('[11.11] is judged by its numbers alone if the one before has fewer than 1,000 companies', async () => {
    await importFile(toCsv(...register.slice(0, 999)))
    expect(await isPublished(toCsv(...register.slice(0, 800)))).to.equal(false)
    const other = (rows: readonly RegisterRow[]) => toCsv(...rows.map((row) => withName(row, 'OTHER')))
    expect(await isPublished(other(register.slice(0, 999)))).to.equal(true)
    await importFile(toCsv(...register.slice(0, 1_000)))
    expect(await isPublished(other(register.slice(0, 1_000)))).to.equal(false)
  })
})
