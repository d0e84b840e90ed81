/** Tests of archives on disk: the detection of their type, and the refusal of damaged and oversized ones. */
import { readdir, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { checkedBytes, CSV_BYTES_MAX, openCsv, sha256OfFile } from '../../../store/import/archive.ts'
import { outcomeOf } from '../../support/register.ts'
import { buildZip, type ZipMember } from '../../support/zip.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const CSV = 'company_num,company_name\n1,É\n'
const member = { name: 'companies.csv', content: CSV }
const others = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `${index}.txt`, content: '' }))

describe('an archive', () => {
  let directory: string

  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  async function fileOf(bytes: Buffer | string, name = 'companies.zip'): Promise<string> {
    const path = join(directory, name)
    await writeFile(path, bytes)
    return path
  }

  async function contentOf(path: string): Promise<string> {
    const chunks: Buffer[] = []
    for await (const chunk of await openCsv(path)) chunks.push(chunk)
    return Buffer.concat(chunks).toString('utf8')
  }

  const read = async (bytes: Buffer | string) => outcomeOf(contentOf(await fileOf(bytes)))

  it('is recognised as a ZIP or a CSV by its bytes, not by its name', async () => {
    expect(await contentOf(await fileOf(buildZip(member), 'companies.csv'))).to.equal(CSV)
    expect(await contentOf(await fileOf(CSV, 'companies.zip'))).to.equal(CSV)
    expect(await contentOf(await fileOf('', 'companies.zip'))).to.equal('')
  })

  it('is read as a gzip by its bytes, and refused if it is cut short or damaged', async () => {
    const packed = gzipSync(CSV)
    expect(await contentOf(await fileOf(packed, 'companies.csv.gz'))).to.equal(CSV)
    expect(await read(packed.subarray(0, packed.length - 9))).to.equal('archive_damaged')
    packed.writeUInt8(packed.readUInt8(packed.length - 8) ^ 1, packed.length - 8)
    expect(await read(packed)).to.equal('archive_damaged')
  })

  it('[11.2] is refused by name if it is of another kind', async () => {
    for (const [name, bytes] of [
      ['bzip2', 'BZh91AY'],
      ['xz', '\u00FD7zXZ\u0000'],
      ['zstd', '\u0028\u00B5\u002F\u00FD'],
      ['sevenZip', '7z\u00BC\u00AF'],
    ] as const) {
      const error = await contentOf(await fileOf(Buffer.from(bytes, 'latin1'))).catch((cause: unknown) => cause)
      const message = `the archive is compressed with ${name}; ZIP and gzip are read`
      expect(error).to.include({ code: 'archive_compression', message })
    }
  })

  for (const [what, code, ...members] of [
    // Without a member it has no local header and is not recognised as a ZIP.
    ['no member', 'done'],
    ['two members', 'archive_members', member, { name: 'readme.csv', content: '' }],
    ['the CSV in a folder', 'done', { name: 'data/', content: '' }, { ...member, name: 'data/companies.csv' }],
    ['the files of macOS beside the CSV', 'done', member, { name: '__MACOSX/._companies.csv', content: 'x' }],
    ['more than a hundred members', 'archive_members', ...others(100), member],
    ['another compression method', 'archive_compression', { ...member, stated: { method: 9 } }],
    ['a member that is not a CSV', 'archive_members', { ...member, name: 'companies.xlsx' }],
    ['a member named ../companies.csv', 'archive_damaged', { ...member, name: '../companies.csv' }],
    ['a member named /companies.csv', 'archive_damaged', { ...member, name: '/companies.csv' }],
    ['an encrypted member', 'archive_damaged', { ...member, stated: { encrypted: true } }],
    ['a stated size that is too small', 'archive_damaged', { ...member, stated: { size: 1 } }],
    ['a stated size above the limit', 'csv_too_large', { ...member, stated: { size: CSV_BYTES_MAX + 1 } }],
    ['a wrong checksum', 'archive_damaged', { ...member, stated: { crc: 1 } }],
  ] as [what: string, code: string, ...members: ZipMember[]][]) {
    it(`[11.2] ends with ${code} for a ZIP with ${what}`, async () => {
      expect(await read(buildZip(...members))).to.equal(code)
    })
  }

  it('is refused if it is truncated at any position', async () => {
    const whole = buildZip({ ...member, content: CSV.repeat(50) })
    for (const share of [0.1, 0.3, 0.5, 0.9, 0.99]) {
      expect(await read(whole.subarray(0, Math.floor(whole.length * share))), `${share}`).to.equal('archive_damaged')
    }
  })

  it('is refused if it is missing or a directory', async () => {
    for (const path of [join(directory, 'missing.zip'), directory]) {
      expect(await outcomeOf(openCsv(path))).to.equal('source_unreadable')
      expect(await outcomeOf(sha256OfFile(path))).to.equal('source_unreadable')
    }
  })

  it('may have as many bytes as the limit, but not one more', async () => {
    const path = await fileOf('12345')
    expect(await outcomeOf(sha256OfFile(path, 5))).to.equal('done')
    expect(await outcomeOf(sha256OfFile(path, 4))).to.equal('archive_too_large')
  })

  it('may have as many bytes after unpacking as the limit, but not one more', async () => {
    const five = () => Readable.from([Buffer.from('123'), Buffer.from('45')])
    const drain = async (bytesMax: number) => {
      for await (const _ of checkedBytes({ bytes: five() }, bytesMax));
    }
    expect(await outcomeOf(drain(5))).to.equal('done')
    expect(await outcomeOf(drain(4))).to.equal('csv_too_large')
  })

  for (const [what, bytes] of [
    ['a ZIP', buildZip({ ...member, content: Buffer.alloc(3_000_000, 'x') })],
    ['a CSV', Buffer.alloc(3_000_000, 'x')],
  ] as const) {
    it(`is closed if the reader of ${what} stops early`, async function () {
      if (process.platform !== 'linux') return this.skip()
      const path = await fileOf(bytes)
      for await (const _ of await openCsv(path)) break
      // The file is closed asynchronously. If it is never closed, the test times out.
      while (await isOpen(path)) await sleep(1)
    })
  }
})

async function isOpen(path: string): Promise<boolean> {
  const descriptors = await readdir('/proc/self/fd')
  const targets = await Promise.all(descriptors.map((each) => readlink(`/proc/self/fd/${each}`).catch(() => '')))
  return targets.includes(path)
}
