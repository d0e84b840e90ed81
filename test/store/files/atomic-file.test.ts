/** The atomic file write: content, mode, exclusive creation, concurrent writers and a failed write. */
import { readdir, readFile, stat, writeFile, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  copyDurably,
  createFileAtomically,
  removeOldUnfinished,
  renameDurably,
  UNFINISHED_AGE_MS,
  writeFileAtomically,
} from '../../../store/files/atomic-file.ts'
import { syncedPaths } from '../../support/synced-paths.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

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
  }

  it('copies a file durably, and moves it when it is on disk', async () => {
    const copy = join(directory, 'copy')
    await writeFile(path, 'content')
    expect(await syncedPaths(() => copyDurably(path, copy))).to.deep.equal([copy, directory])
    expect((await stat(copy)).mode & 0o777).to.equal(0o600)
    expect(await syncedPaths(() => renameDurably(copy, path))).to.deep.equal([directory])
    expect(await readdir(directory)).to.deep.equal(['file.json'])
  })

  it('lets one of several concurrent creations succeed', async () => {
    const texts = Array.from({ length: 10 }, (_, index) => `text ${index}`)
    const created = await Promise.all(texts.map((text) => createFileAtomically(path, text)))
    expect(created.filter(Boolean)).to.have.lengthOf(1)
    expect(await readFile(path, 'utf8')).to.equal(texts[created.indexOf(true)])
    expect(await readdir(directory)).to.deep.equal(['file.json'])
  })

  it('removes the temporary files of crashes after a day, and no other file', async () => {
    const part = '01234567-89ab-cdef-0123-456789abcdef.tmp'
    const old = [`a.json.${part}`, `file.json.${part}`]
    const others = ['file.json', 'file.json.tmp', 'file.json.old.tmp', part, `a.txt.${part}`, `a.json.${part}.json`]
    const now = new Date(1_800_000_000_000)
    const put = async (name: string, ageMs: number) => {
      await writeFile(join(directory, name), '')
      await utimes(join(directory, name), now, (now.getTime() - ageMs) / 1000)
    }
    for (const name of [...old, ...others]) await put(name, UNFINISHED_AGE_MS + 1000)
    await put(`new.json.${part}`, UNFINISHED_AGE_MS)
    await put(`later.json.${part}`, -1000)
    const kept = [...others, `new.json.${part}`, `later.json.${part}`]
    await removeOldUnfinished({ folder: directory, now })
    expect(await readdir(directory)).to.have.members(kept)
    await removeOldUnfinished({ folder: join(directory, 'missing'), now })
    expect(await errorCode(removeOldUnfinished({ folder: path, now }))).to.equal('ENOTDIR')
  })
})
