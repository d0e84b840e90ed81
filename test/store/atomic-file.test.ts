/** The atomic file write: content, mode, exclusive creation, concurrent writers and a failed write. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { createFileAtomically, writeFileAtomically } from '../../store/atomic-file.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'

describe('an atomic file write', () => {
  let directory: string
  let path: string

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    path = join(directory, 'file.json')
  })

  const errorCode = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    )

  const WRITES = [
    { name: 'writeFileAtomically', write: writeFileAtomically },
    { name: 'createFileAtomically', write: createFileAtomically },
  ]
  for (const { name, write } of WRITES) {
    it(`${name} creates a file of mode 0600 and leaves no temporary file`, async () => {
      await write(path, 'first')
      expect(await readFile(path, 'utf8')).to.equal('first')
      expect((await stat(path)).mode & 0o777).to.equal(0o600)
      expect(await readdir(directory)).to.deep.equal(['file.json'])
    })

    it(`${name} rejects without its directory`, async () => {
      expect(await errorCode(write(join(directory, 'missing', 'file'), 'text'))).to.equal('ENOENT')
    })
  }

  it('replaces a file and sets its mode to 0600', async () => {
    await writeFile(path, 'before', { mode: 0o644 })
    await writeFileAtomically(path, 'after')
    expect(await readFile(path, 'utf8')).to.equal('after')
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
  })

  it('keeps an existing file on exclusive creation', async () => {
    await writeFileAtomically(path, 'before')
    expect(await createFileAtomically(path, 'after')).to.equal(false)
    expect(await readFile(path, 'utf8')).to.equal('before')
    expect(await readdir(directory)).to.deep.equal(['file.json'])
  })

  it('writes complete content with concurrent writers', async () => {
    const texts = Array.from({ length: 10 }, (_, index) => String(index).repeat(10_000))
    await Promise.all(texts.map((text) => writeFileAtomically(path, text)))
    expect(texts).to.include(await readFile(path, 'utf8'))
    expect(await readdir(directory)).to.deep.equal(['file.json'])
  })

  it('lets one of several concurrent creations succeed', async () => {
    const texts = Array.from({ length: 10 }, (_, index) => `text ${index}`)
    const created = await Promise.all(texts.map((text) => createFileAtomically(path, text)))
    expect(created.filter(Boolean)).to.have.lengthOf(1)
    expect(await readFile(path, 'utf8')).to.equal(texts[created.indexOf(true)])
    expect(await readdir(directory)).to.deep.equal(['file.json'])
  })

  it('rejects and removes the temporary file when the rename fails', async () => {
    await mkdir(path)
    expect(await errorCode(writeFileAtomically(path, 'text'))).to.be.oneOf(['EISDIR', 'ENOTEMPTY', 'EEXIST'])
    expect(await readdir(directory)).to.deep.equal(['file.json'])
  })
})
