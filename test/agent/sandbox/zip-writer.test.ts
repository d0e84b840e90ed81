/** The project's own ZIP archives: read by our importer and by another program, and the same bytes at any time. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { zipArchive } from '../../../agent/sandbox/zip-writer.ts'
import { openCsv } from '../../../store/import/archive.ts'

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts)
}

describe('a written ZIP', () => {
  let directory: string
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'zip-writer-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  for (const [what, content] of [
    ['nothing', []],
    ['a few bytes', [Buffer.from('company_num\n'), Buffer.from('1\nÉ\n')]],
    ['more than any buffer', Array.from({ length: 40 }, (_, index) => Buffer.alloc(100_000, `${index},`))],
  ] as const) {
    it(`comes out of the importer's reader as it went in: ${what}`, async () => {
      const path = join(directory, 'companies.zip')
      await writeFile(path, await bytesOf(zipArchive('companies.csv', content)))
      expect((await bytesOf(await openCsv(path))).equals(Buffer.concat(content))).to.equal(true)
    })
  }

  it('is whole to another program', async function () {
    const path = join(directory, 'companies.zip')
    await writeFile(path, await bytesOf(zipArchive('companies.csv', [Buffer.from('company_num\n1\n')])))
    const tested = await promisify(execFile)('unzip', ['-t', path]).catch((error: NodeJS.ErrnoException) => error)
    if (tested instanceof Error && tested.code === 'ENOENT') return this.skip()
    expect(tested)
      .to.have.property('stdout')
      .that.matches(/companies\.csv +OK\nNo errors detected/)
  })

  it('has the same bytes however its content is cut', async () => {
    const one = await bytesOf(zipArchive('a.csv', [Buffer.from('one,two')]))
    expect(one.equals(await bytesOf(zipArchive('a.csv', [Buffer.from('one'), Buffer.from(',two')])))).to.equal(true)
  })
})
