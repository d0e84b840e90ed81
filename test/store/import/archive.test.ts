/** Archives on disk: told apart by their bytes, and refused when they are not one whole CSV of a bearable size. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { checkedBytes, CSV_BYTES_MAX, openCsv, sha256OfFile } from '../../../store/import/archive.ts'
import { outcomeOf } from '../../support/register.ts'
import { zipOf } from '../../support/zip.ts'

const CSV = 'company_num,company_name\n1,É\n'
const member = { name: 'companies.csv', content: CSV }

describe('an archive', () => {
  let directory: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'archive-'))
  })

  afterEach(() => rm(directory, { recursive: true }))

  async function fileOf(bytes: Buffer | string, name = 'companies.zip'): Promise<string> {
    const path = join(directory, name)
    await writeFile(path, bytes)
    return path
  }

  async function contentOf(path: string): Promise<string> {
    const chunks: Buffer[] = []
    for await (const chunk of await openCsv(path)) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString('utf8')
  }

  const read = async (bytes: Buffer | string) => outcomeOf(contentOf(await fileOf(bytes)))

  it('is a ZIP by its bytes, whatever its name says', async () => {
    expect(await contentOf(await fileOf(zipOf(member), 'companies.csv'))).to.equal(CSV)
  })

  it('is a CSV by its bytes, whatever its name says', async () => {
    expect(await contentOf(await fileOf(CSV, 'companies.zip'))).to.equal(CSV)
  })

  it('comes out whole when it is larger than any buffer', async () => {
    const content = 'x'.repeat(3_000_000)
    expect(await contentOf(await fileOf(zipOf({ ...member, content })))).to.equal(content)
  })

  it('takes a member named in upper case', async () => {
    expect(await contentOf(await fileOf(zipOf({ ...member, name: 'COMPANIES.CSV' })))).to.equal(CSV)
  })

  for (const [what, members] of [
    ['no member', []],
    ['two members', [member, { name: 'readme.csv', content: '' }]],
    ['a member in a folder', [{ ...member, name: 'data/companies.csv' }]],
    ['a member that is no CSV', [{ ...member, name: 'companies.xlsx' }]],
    ['a folder alone', [{ name: 'data/', content: '' }]],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      // Without a member a ZIP has no local header, so that it would not be taken for one.
      const isKnown = members.length > 0
      expect(await read(zipOf(...members))).to.equal(isKnown ? 'archive_members' : 'done')
    })
  }

  for (const name of ['../companies.csv', '/companies.csv', 'a\\companies.csv', 'C:/companies.csv']) {
    it(`is refused with a member named ${name}`, async () => {
      expect(await read(zipOf({ ...member, name }))).to.be.oneOf(['archive_damaged', 'archive_members'])
    })
  }

  it('is refused when it is encrypted', async () => {
    expect(await read(zipOf({ ...member, claims: { encrypted: true } }))).to.equal('archive_damaged')
  })

  it('is refused cut short at any place', async () => {
    const whole = zipOf({ ...member, content: CSV.repeat(50) })
    for (const share of [0.1, 0.3, 0.5, 0.9, 0.99]) {
      expect(await read(whole.subarray(0, Math.floor(whole.length * share))), `${share}`).to.equal('archive_damaged')
    }
  })

  it('is refused when more or less comes out than it says', async () => {
    for (const size of [1, CSV.length, 10_000]) {
      expect(await read(zipOf({ ...member, claims: { size } })), `${size}`).to.equal('archive_damaged')
    }
  })

  it('is refused before it is unpacked when it says to be too large', async () => {
    expect(await read(zipOf({ ...member, claims: { size: CSV_BYTES_MAX + 1 } }))).to.equal('csv_too_large')
  })

  it('is refused when what comes out does not match its checksum', async () => {
    expect(await read(zipOf({ ...member, claims: { crc: 1 } }))).to.equal('archive_damaged')
  })

  it('is refused with a flipped bit in the packed data', async () => {
    const bytes = zipOf({ ...member, content: Array.from({ length: 500 }, (_, index) => `${index}\n`).join('') })
    const at = 300
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    expect(await read(bytes)).to.equal('archive_damaged')
  })

  it('is read as an empty CSV when it is an empty file', async () => {
    expect(await contentOf(await fileOf(''))).to.equal('')
  })

  it('is refused when it is missing or a directory', async () => {
    for (const path of [join(directory, 'missing.zip'), directory]) {
      expect(await outcomeOf(openCsv(path))).to.equal('source_unreadable')
      expect(await outcomeOf(sha256OfFile(path))).to.equal('source_unreadable')
    }
  })

  it('is known by the SHA-256 of its bytes', async () => {
    const bytes = zipOf(member)
    expect(await sha256OfFile(await fileOf(bytes))).to.equal(createHash('sha256').update(bytes).digest('hex'))
  })

  it('may have just as many bytes as the limit, and not one more', async () => {
    const path = await fileOf('12345')
    expect(await outcomeOf(sha256OfFile(path, 5))).to.equal('done')
    expect(await outcomeOf(sha256OfFile(path, 4))).to.equal('archive_too_large')
  })

  it('may give just as many bytes as the limit, and not one more', async () => {
    const five = () => Readable.from([Buffer.from('123'), Buffer.from('45')])
    const drain = async (bytesMax: number) => {
      for await (const _ of checkedBytes({ bytes: five(), bytesMax }));
    }
    expect(await outcomeOf(drain(5))).to.equal('done')
    expect(await outcomeOf(drain(4))).to.equal('csv_too_large')
  })

  for (const [what, bytes] of [
    ['a ZIP', zipOf({ ...member, content: Buffer.alloc(3_000_000, 'x') })],
    ['a CSV', Buffer.alloc(3_000_000, 'x')],
  ] as const) {
    it(`is closed when the reader of ${what} leaves early`, async function () {
      if (process.platform !== 'linux') return this.skip()
      const path = await fileOf(bytes)
      const stream = await openCsv(path)
      await once(stream, 'readable')
      stream.read()
      stream.destroy()
      await once(stream, 'close')
      // Closing is the system's work of a moment; if it never happens, the test times out.
      while (await isOpen(path)) await sleep(1)
    })
  }
})

async function isOpen(path: string): Promise<boolean> {
  const descriptors = await readdir('/proc/self/fd')
  const targets = await Promise.all(descriptors.map((each) => readlink(`/proc/self/fd/${each}`).catch(() => '')))
  return targets.includes(path)
}
