/**
 * Environments that are damaged, of another kind or of another layout: each is refused with one line and not changed.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { open } from 'lmdb'
import { LAYOUT_KEY, LAYOUT_VERSION, type EnvironmentKind } from '../../../store/files/layout.ts'
import { checkHead, checkPlace, LostFileError, openEnvironment, StoreError } from '../../../store/files/environment.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

/** Longer than the interval in which an open file is not checked again. */
const HEAD_INTERVAL_MS = 20

const KINDS = Object.keys(LAYOUT_VERSION) as EnvironmentKind[]

describe('an LMDB environment', () => {
  let directory: string
  let folder: string

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    folder = join(directory, 'environment')
  })

  /** Writes into the folder without the store, as another program would. */
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

  const LOSSES: [name: string, lose: () => Promise<unknown>][] = [
    ['removed', () => rm(folder, { recursive: true })],
    ['moved with its folder', () => rename(directory, `${directory}.moved`)],
    [
      'replaced by a copy',
      async () => {
        await copyFile(join(folder, 'data.mdb'), join(directory, 'copy'))
        await rename(join(directory, 'copy'), join(folder, 'data.mdb'))
      },
    ],
  ]
  for (const [name, lose] of LOSSES)
    it(`[14.15] is lost when its open file was ${name}`, async () => {
      const environment = openEnvironment({ folder, kind: 'catalog' })
      await environment.put('key', 1)
      checkPlace(folder)
      await lose()
      expect(() => checkPlace(folder)).to.throw(LostFileError)
      await environment.close()
    })

  const PAGE_BYTES = 8_192
  const CUT_BYTES = 50
  const DAMAGES: [name: string, damage: (bytes: Buffer) => Buffer, rule: string][] = [
    ['a first page of zeros', (bytes) => bytes.fill(0, 0, PAGE_BYTES), 'is not an LMDB file'],
    ['a second page of zeros', (bytes) => bytes.fill(0, PAGE_BYTES, 2 * PAGE_BYTES), 'first pages are damaged'],
    [
      'random meta pages',
      (bytes) => Buffer.concat([randomBytes(2 * PAGE_BYTES), bytes.subarray(2 * PAGE_BYTES)]),
      'LMDB',
    ],
    ['other pages of zeros', (bytes) => bytes.fill(0, 2 * PAGE_BYTES), 'first pages are damaged'],
    [
      'other pages of random bytes',
      (bytes) => Buffer.concat([bytes.subarray(0, 2 * PAGE_BYTES), randomBytes(bytes.length)]),
      'damaged',
    ],
    ['a part of its first page', (bytes) => bytes.subarray(0, 100), 'is not an LMDB file'],
    ['its first page only', (bytes) => bytes.subarray(0, PAGE_BYTES), 'first pages are damaged'],
    ['its meta pages only', (bytes) => bytes.subarray(0, 2 * PAGE_BYTES), 'first pages are damaged'],
  ]
  for (const [name, damage, rule] of DAMAGES)
    it(`is refused with one line, before LMDB reads it, with ${name}`, async () => {
      const environment = openEnvironment({ folder, kind: 'history' })
      await environment.put('key', 'x'.repeat(100_000))
      checkHead(folder)
      await sleep(HEAD_INTERVAL_MS)
      await writeFile(join(folder, 'data.mdb'), damage(await data()))
      expect(refusal(() => checkHead(folder))).to.include('its open file is damaged')
      await environment.close()
      await expectRefused(rule, 'history')
    })

  it('is refused while it is open when its end is cut off, and read with zeros there when it is opened again', async () => {
    const environment = openEnvironment({ folder, kind: 'history' })
    await environment.put('key', 'x'.repeat(100_000))
    checkHead(folder)
    const { length } = await data()
    await truncate(join(folder, 'data.mdb'), length - CUT_BYTES)
    await sleep(HEAD_INTERVAL_MS)
    expect(refusal(() => checkHead(folder))).to.include('its open file is damaged (it was cut)')
    await environment.close()
    await openEnvironment({ folder, kind: 'history', readOnly: true }).close()
    expect((await data()).subarray(length - CUT_BYTES).equals(Buffer.alloc(CUT_BYTES))).to.equal(true)
  })

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

  /** The environment is refused read-only and writable, and its file does not change. */
  async function expectRefused(rule: string, kind: EnvironmentKind = 'catalog'): Promise<void> {
    const before = await data()
    for (const readOnly of [false, true]) {
      expect(refusal(() => openEnvironment({ folder, kind, readOnly }))).to.include(rule)
    }
    expect((await data()).equals(before)).to.equal(true)
  }

  for (const kind of KINDS) {
    it(`is created and opened again: ${kind}`, async () => {
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
      it(`is refused as ${other} when it is ${kind}`, async () => {
        await openEnvironment({ folder, kind }).close()
        await expectRefused(`is not a ${other} folder of this service`, other)
      })
    }

    for (const version of [LAYOUT_VERSION[kind] - 1, LAYOUT_VERSION[kind] + 1]) {
      it(`is refused with layout version ${version}: ${kind}`, async () => {
        await write({ [LAYOUT_KEY]: { kind, version } })
        await expectRefused(`has layout version ${version}, this program reads ${LAYOUT_VERSION[kind]}`, kind)
      })
    }
  }

  const FOREIGN: [what: string, values: Record<string, unknown>][] = [
    ['keys of another program', { someone: 'else' }],
    ...['text', null, 1, {}, { kind: 'catalog' }, { kind: 'catalog', version: '1' }].map(
      (layout): (typeof FOREIGN)[number] => [`the layout ${JSON.stringify(layout)}`, { [LAYOUT_KEY]: layout }],
    ),
  ]
  for (const [what, values] of FOREIGN) {
    it(`is refused with ${what}`, async () => {
      await write(values)
      await expectRefused('is not a catalog folder of this service')
    })
  }

  for (const [what, bytes] of [
    ['text', Buffer.from('garbage')],
    ['a page of one byte', Buffer.alloc(4096, 0x5a)],
    ['many pages of one byte', Buffer.alloc(100_000, 0x5a)],
    ['zeros', Buffer.alloc(16_384)],
  ] as const) {
    it(`is refused if the data file is ${what}`, async () => {
      await writeFileOf(bytes)
      await expectRefused('cannot be opened as an LMDB environment')
    })
  }

  it('is created over an empty data file, unless it is opened read-only', async () => {
    await writeFileOf(Buffer.alloc(0))
    expect(refusal(() => openEnvironment({ folder, kind: 'catalog', readOnly: true }))).to.include('LMDB')
    await openEnvironment({ folder, kind: 'catalog' }).close()
  })

  it('can be written after a compact copy, also if the first transaction frees many pages', async () => {
    const copy = join(directory, 'copy')
    const environment = openEnvironment({ folder, kind: 'history' })
    const keys = Array.from({ length: 500 }, (_, index) => `key ${index}`)
    environment.transactionSync(() => keys.forEach((key) => environment.putSync(key, 'x'.repeat(20_000))))
    await mkdir(copy)
    await environment.backup(copy, true)
    await environment.close()
    // In another process, because LMDB would end it.
    const script = `import { openEnvironment } from './dist/store/files/environment.js'
      const copied = openEnvironment({ folder: process.argv[1], kind: 'history' })
      copied.transactionSync(() => { for (const key of [...copied.getKeys({ start: 'key' })]) copied.removeSync(key) })
      console.log(copied.getKeysCount())
      await copied.close()`
    const args = ['--input-type=module', '-e', script, copy]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: process.cwd() })
    expect(stdout).to.equal('0\n')
  })
})
