/** Permissions of everything that the program creates, with real processes under umask 022. */
import { chmod, chown, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { filesIn } from '../../keys/support.ts'
import { ready, startChild, stopService, withUmask, type Child } from '../../support/child.ts'
import { REGISTER } from '../../support/fixtures.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

describe('the files of the program', () => {
  let directory: string
  let children: Child[]

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    children = []
  })
  afterEach(async () => {
    await Promise.all(children.map(stopService))
  })

  function start(args: string[], environment: Record<string, string> = {}): Child {
    const defaults = { DATA_DIR: join(directory, 'data'), PORT: '0', LOG_LEVEL: 'silent' }
    const child = startChild('operator/main.js', args, { ...defaults, ...environment }, withUmask('022'))
    children.push(child)
    return child
  }

  /** The paths that group or others can access, and the names of the directories. */
  async function inspect(folder: string) {
    const names = await readdir(folder, { recursive: true })
    const modes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).mode))
    return { names, open: names.filter((_name, at) => ((modes[at] ?? 0) & 0o077) !== 0) }
  }

  it('[14.6] are accessible to their owner only: service, sandbox, its chain, client, keys', async () => {
    const service = start(['serve'])
    const url = await ready(service)
    const [file = ''] = await filesIn(join(directory, 'data', 'keys'))
    for (const args of [
      ['client', 'lookup', '00000000', '--url', url],
      ['keys', 'compromise', file.replace('.jwk.json', '')],
    ]) {
      const child = start(args)
      expect(await child.ended, [...child.said].join('\n') + child.stderr()).to.equal(0)
    }
    expect(await stopService(service)).to.equal(0)
    const { names, open } = await inspect(directory)
    expect(open).to.deep.equal([])
    for (const name of ['responses', 'keys', 'purchases', 'sandbox', 'snapshots'])
      expect(names).to.include(join('data', name))
    // The child process anvil writes its state at a stop.
    expect(names.filter((name) => name.startsWith('data/sandbox/') && name.endsWith('.json'))).to.have.length.above(1)
  })

  const MODES = [
    ['responses', 0o2770],
    ['keys', 0o710],
  ] as const

  it('[14.6] get their modes at a start, as volumes with a group need it', async () => {
    for (const [name, mode] of MODES) {
      await mkdir(join(directory, 'data', name), { recursive: true })
      await chmod(join(directory, 'data', name), mode)
    }
    await chmod(join(directory, 'data'), 0o700)
    const log = join(directory, 'data', 'responses', 'data.mdb')
    await writeFile(log, '')
    await chmod(log, 0o660)
    await ready(start(['serve'], { DATASET: REGISTER }))
    for (const [name] of MODES) expect((await stat(join(directory, 'data', name))).mode & 0o777, name).to.equal(0o700)
    expect((await inspect(directory)).open).to.deep.equal([])
  })

  for (const [name] of MODES)
    it(`[14.6] are refused at the start if others own ${name} and its mode is 0755`, async function () {
      if (process.getuid?.() !== 0) return this.skip()
      const path = join(directory, 'data', name)
      await mkdir(path, { recursive: true })
      await writeFile(join(path, 'file'), '')
      await chmod(path, 0o755)
      await chown(path, 65_534, 65_534)
      const service = start(['serve'])
      expect(await service.ended).to.equal(1)
      expect(service.stderr()).to.equal(
        `"${path}" has mode 0755; only its owner may have access: run chmod 700 "${path}"\n`,
      )
      expect([...service.said]).to.deep.equal([])
      expect(await readdir(join(directory, 'data'))).to.deep.equal([name])
    })
})
