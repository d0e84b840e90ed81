/** The file of a name index: what is read is what was written, or an error. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { openNameIndex } from '../../../store/index/name-index.ts'
import { loadIndexFile, writeIndexFile, type IndexParts } from '../../../store/index/sections.ts'
import { NAMES_FILE } from '../../../store/layout.ts'
import { StoreError } from '../../../store/open.ts'

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

describe('the file of a name index', () => {
  let folder: string
  let path: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sections-'))
    path = join(folder, NAMES_FILE)
  })

  afterEach(() => rm(folder, { recursive: true }))

  const reading = () => loadIndexFile(path)

  it('gives back arrays of every type, empty ones too, and the facts', async () => {
    await writeIndexFile(path, PARTS)
    expect(reading()).to.deep.equal(PARTS)
  })

  it('gives back whatever was written', async () => {
    const numbers = (max: number) => fc.array(fc.nat(max), { maxLength: 20 })
    const section = fc.oneof(
      numbers(255).map((each) => Uint8Array.from(each)),
      numbers(65_535).map((each) => Uint16Array.from(each)),
      numbers(4_294_967_295).map((each) => Uint32Array.from(each)),
    )
    const sections = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), section, { noNullPrototype: true })
    await fc.assert(
      fc.asyncProperty(sections, fc.jsonValue(), async (parts, facts) => {
        await rm(path, { force: true })
        // What JSON writes and reads again: no negative zero.
        const written = { facts: JSON.parse(JSON.stringify(facts)) as unknown, sections: parts }
        await writeIndexFile(path, written)
        expect(reading()).to.deep.equal(written)
      }),
      { numRuns: 40 },
    )
  })

  it('writes a part of a larger array as that part', async () => {
    const part = Uint32Array.of(1, 2, 3, 4, 5).subarray(1, 4)
    await writeIndexFile(path, { facts: null, sections: { part } })
    expect(reading().sections['part']).to.deep.equal(Uint32Array.of(2, 3, 4))
  })

  it('never writes over a file that is there', async () => {
    await writeIndexFile(path, PARTS)
    const error = await writeIndexFile(path, PARTS).then(
      () => undefined,
      (cause: NodeJS.ErrnoException) => cause,
    )
    expect(error?.code).to.equal('EEXIST')
  })

  it('is refused with any byte flipped', async () => {
    await writeIndexFile(path, PARTS)
    const bytes = await readFile(path)
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = Buffer.from(bytes)
      flipped[at]! ^= 1 << (at % 8)
      await writeFile(path, flipped)
      expect(reading, `byte ${at}`).to.throw(StoreError)
    }
  })

  it('is refused at any other length', async () => {
    await writeIndexFile(path, PARTS)
    const bytes = await readFile(path)
    for (let length = 0; length < bytes.length; length += 1) {
      await writeFile(path, bytes.subarray(0, length))
      expect(reading, `${length} bytes`).to.throw(StoreError)
    }
    await writeFile(path, Buffer.concat([bytes, Buffer.alloc(1)]))
    expect(reading).to.throw(StoreError)
  })

  it('is no index when it holds other arrays, or is not there', async () => {
    expect(() => openNameIndex(folder)).to.throw(StoreError)
    await writeIndexFile(path, PARTS)
    expect(() => openNameIndex(folder)).to.throw(StoreError)
  })
})
