/** The index file: reading returns the written data or throws. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openNameIndex } from '../../../store/index/name-index.ts'
import { readIndexFile, writeIndexFile, type IndexParts } from '../../../store/index/index-file.ts'
import { NAMES_FILE } from '../../../store/files/layout.ts'
import { StoreError } from '../../../store/files/environment.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const PARTS: IndexParts = {
  facts: { statuses: ['Normal', null] },
  sections: {
    bytes: Uint8Array.of(1, 2, 255),
    none: new Uint8Array(),
    pairs: Uint16Array.of(1, 65_535, 7),
    noPairs: new Uint16Array(),
    words: Uint32Array.of(0, 4_294_967_295, 9),
    noWords: new Uint32Array(),
  },
}

describe('an index file', () => {
  let folder: string
  let path: string

  beforeEach(async () => {
    folder = await makeTemporaryDirectory()
    path = join(folder, NAMES_FILE)
  })

  const read = () => readIndexFile(path)

  it('is rejected when any bit is flipped', async () => {
    await writeIndexFile(path, PARTS)
    expect(read()).to.deep.equal(PARTS)
    const bytes = await readFile(path)
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Buffer.from(bytes)
      flipped[at]! ^= 1 << (at % 8)
      await writeFile(path, flipped)
      expect(read, `byte ${at}`).to.throw(StoreError)
    }
  })

  it('is rejected when it is missing or has other arrays', async () => {
    expect(() => openNameIndex(folder)).to.throw(StoreError)
    await writeIndexFile(path, PARTS)
    expect(() => openNameIndex(folder)).to.throw(StoreError)
  })
})
