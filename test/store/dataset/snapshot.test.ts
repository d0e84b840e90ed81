/** Reading a snapshot: by number, in order, and with damaged values. */
import { expect } from 'chai'
import { encodeEntry } from '../../../store/dataset/company-entry.ts'
import { COMPANIES_DATABASE, companyKey, INFO_KEY } from '../../../store/files/layout.ts'
import { openEnvironment } from '../../../store/files/environment.ts'
import { openSnapshot, type SnapshotInfo } from '../../../store/dataset/snapshot.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const info: SnapshotInfo = {
  snapshot_id: `sha256:${'a'.repeat(64)}`,
  normalisation: 'test',
  imported_at: '2026-01-02T03:04:05.000Z',
  row_count: 3,
  company_count: 2,
  quarantined_company_count: 1,
  rejected_row_count: 0,
  findings: { row_contradicting: 1 },
}

describe('a snapshot', () => {
  let folder: string

  beforeEach(async () => void (folder = await makeTemporaryDirectory()))

  async function write(entries: Record<string, Buffer>, stored: unknown = info): Promise<void> {
    const environment = openEnvironment({ folder, kind: 'snapshot' })
    const companies = environment.openDB<Buffer, string>({ name: COMPANIES_DATABASE, encoding: 'binary' })
    for (const [number, bytes] of Object.entries(entries)) await companies.put(companyKey(number), bytes)
    if (stored !== null) await environment.put(INFO_KEY, stored)
    await environment.close()
  }

  const company = (company_number: string) => ({ ...SYNTHETIC_COMPANY, company_number })

  it('finds a company by its exact number', async () => {
    await write({ '7': encodeEntry(company('7')), '07': encodeEntry('quarantined') })
    const snapshot = openSnapshot(folder)
    expect(snapshot.info).to.deep.equal(info)
    expect(snapshot.find('7')).to.deep.equal(company('7'))
    expect(snapshot.find('07')).to.equal('quarantined')
    for (const number of ['007', '70', '0', '99999999999999999999']) expect(snapshot.find(number)).to.equal(undefined)
    await snapshot.close()
  })

  it('throws for a company with a flipped bit and still reads the others', async () => {
    const bytes = encodeEntry(company('1'))
    bytes.writeUInt8(bytes.readUInt8(30) ^ 1, 30)
    await write({ '1': bytes, '2': encodeEntry(company('2')) })
    const snapshot = openSnapshot(folder)
    expect(() => snapshot.find('1')).to.throw('has a damaged record')
    expect(() => [...snapshot.entries()]).to.throw('has a damaged record')
    expect(snapshot.find('2')).to.deep.equal(company('2'))
    await snapshot.close()
  })

  for (const [what, stored] of [
    ['no info', null],
    ['another object as info', { snapshot_id: 'x' }],
    ['an unknown member', { ...info, extra: 1 }],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      await write({ '1': encodeEntry(company('1')) }, stored)
      expect(() => openSnapshot(folder))
        .to.throw(`${folder}: is not a complete snapshot`)
        .with.property('name', 'StoreError')
    })
  }
})
