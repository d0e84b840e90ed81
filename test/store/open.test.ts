/** Folders that are not what they should be: each is refused in one line, and nothing in it is changed. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { open } from 'lmdb'
import { openCatalog } from '../../store/catalog.ts'
import { LAYOUT_KEY, LAYOUT_VERSION, type EnvironmentKind } from '../../store/layout.ts'
import { openEnvironment, StoreError } from '../../store/open.ts'
import { openSnapshot } from '../../store/snapshot.ts'

const KINDS = Object.keys(LAYOUT_VERSION) as EnvironmentKind[]

describe('a folder of the store', () => {
  let directory: string
  let folder: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'open-'))
    folder = join(directory, 'environment')
  })

  afterEach(() => rm(directory, { recursive: true }))

  /** Writes into the folder as another program would. */
  async function write(values: Record<string, unknown>, options = {}): Promise<void> {
    const environment = open({ path: folder, overlappingSync: false, encoding: 'json', maxDbs: 8, ...options })
    for (const [key, value] of Object.entries(values)) await environment.put(key, value)
    await environment.close()
  }

  async function writeFileOf(bytes: Buffer): Promise<void> {
    await mkdir(folder)
    await writeFile(join(folder, 'data.mdb'), bytes)
  }

  const data = () => readFile(join(folder, 'data.mdb'))

  function refusal(work: () => unknown): string {
    try {
      work()
    } catch (error) {
      expect(error).to.be.instanceOf(StoreError)
      const { message } = error as StoreError
      expect(message, 'one line').not.to.include('\n')
      expect(message, 'names the folder').to.include(folder)
      return message
    }
    return 'opened'
  }

  /** Refused by whoever reads and whoever writes, with the file as it was. */
  async function expectRefused(rule: string, kind: EnvironmentKind = 'catalog'): Promise<void> {
    const before = await data()
    for (const readOnly of [false, true]) {
      expect(refusal(() => openEnvironment({ folder, kind, readOnly }))).to.include(rule)
    }
    expect((await data()).equals(before)).to.equal(true)
  }

  for (const kind of KINDS) {
    it(`is made when it is new, and opened again: ${kind}`, async () => {
      for (const key of ['first', 'second']) {
        const environment = openEnvironment({ folder, kind })
        await environment.put(key, key)
        expect(environment.get('first')).to.equal('first')
        await environment.close()
      }
      const reader = openEnvironment({ folder, kind, readOnly: true })
      expect(reader.get('second')).to.equal('second')
      await reader.close()
    })

    for (const other of KINDS.filter((each) => each !== kind)) {
      it(`is refused as a ${other} when it is a ${kind}`, async () => {
        await openEnvironment({ folder, kind }).close()
        await expectRefused(`is not a ${other} folder of this service`, other)
      })
    }

    it(`is refused with a newer layout: ${kind}`, async () => {
      const version = LAYOUT_VERSION[kind] + 1
      await write({ [LAYOUT_KEY]: { kind, version } })
      await expectRefused(`has layout version ${version}, this program reads ${LAYOUT_VERSION[kind]}`, kind)
    })
  }

  it('is refused when another program filled it', async () => {
    await write({ someone: 'else' })
    await expectRefused('is not a catalog folder of this service')
  })

  it('is refused when another program filled it, in another encoding', async () => {
    await write({ [LAYOUT_KEY]: { kind: 'catalog', version: 1 } }, { encoding: 'msgpack' })
    await expectRefused('cannot be read or written')
  })

  it('is refused when another program filled it with databases alone', async () => {
    const environment = open({ path: folder, maxDbs: 8 })
    await environment.openDB({ name: 'theirs' }).put('a', 1)
    await environment.close()
    await expectRefused('is not a catalog folder of this service')
  })

  for (const layout of ['text', null, 1, {}, { kind: 'catalog' }, { kind: 'catalog', version: '1' }]) {
    it(`is refused with the layout ${JSON.stringify(layout)}`, async () => {
      await write({ [LAYOUT_KEY]: layout })
      await expectRefused('is not a catalog folder of this service')
    })
  }

  for (const [what, bytes] of [
    ['text', Buffer.from('garbage')],
    ['a page of one byte', Buffer.alloc(4096, 0x5a)],
    ['many pages of one byte', Buffer.alloc(100_000, 0x5a)],
    ['zeros', Buffer.alloc(16_384)],
  ] as const) {
    it(`is refused with ${what} for a database, and the process lives`, async () => {
      await writeFileOf(bytes)
      await expectRefused('cannot be opened as an LMDB environment')
    })
  }

  it('is made anew over an empty file, which a kill before the first write leaves, but not by a reader', async () => {
    await writeFileOf(Buffer.alloc(0))
    expect(refusal(() => openEnvironment({ folder, kind: 'catalog', readOnly: true }))).to.include('LMDB')
    await openEnvironment({ folder, kind: 'catalog' }).close()
  })

  it('is refused when it is a file', async () => {
    await writeFile(folder, 'x')
    for (const readOnly of [false, true]) {
      expect(refusal(() => openEnvironment({ folder, kind: 'catalog', readOnly }))).to.include('cannot be opened')
    }
    expect(await readFile(folder, 'utf8')).to.equal('x')
  })

  it('is refused by a reader when it is missing, and not made', async () => {
    expect(refusal(() => openSnapshot(folder))).to.include('cannot be opened')
    expect(await readdir(directory)).to.deep.equal([])
  })

  it('is refused as a catalogue that is none', async () => {
    folder = join(directory, 'catalog')
    await write({ someone: 'else' })
    expect(refusal(() => openCatalog(directory))).to.include('is not a catalog folder')
  })
})
