/** Which modes of files and directories are refused. */
import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import { checkPrivateDirectory, findOpenMode, makePrivateDirectory } from '../../../store/files/private-files.ts'
import { syncedPaths } from '../../support/synced-paths.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const OTHERS_BITS = [0o040, 0o020, 0o010, 0o004, 0o002, 0o001]

describe('private files', () => {
  it('[14.6] may have any permission of the owner and the special bits', () => {
    for (const mode of [0o700, 0o600, 0o500, 0o400, 0, 0o1700, 0o2700, 0o4700, 0o100600, 0o040700])
      expect(findOpenMode(mode, 'linux'), mode.toString(8)).to.equal(undefined)
  })

  it('[14.6] may have no permission of group or others', () => {
    for (const bit of OTHERS_BITS) {
      for (const mode of [bit, 0o700 | bit, 0o100600 | bit]) {
        const digits = (mode & 0o777).toString(8)
        expect(findOpenMode(mode, 'linux')).to.equal(`has mode 0${digits}; only its owner may have access`)
      }
    }
  })

  it('[14.6] are not checked on Windows', () => expect(findOpenMode(0o666, 'win32')).to.equal(undefined))

  it('[14.6] include a directory, which is refused with the command that closes it', async function () {
    const path = join(await makeTemporaryDirectory(), 'two\nlines')
    await mkdir(path, { mode: 0o700 })
    await checkPrivateDirectory(path)
    await chmod(path, 0o740)
    // The start sets the mode of an own one.
    await checkPrivateDirectory(path)
    if (process.getuid?.() !== 0) return this.skip()
    await chown(path, 65_534, 65_534)
    const fault = await checkPrivateDirectory(path).catch((cause: unknown) => String(cause))
    const [name, rule] = [JSON.stringify(path), 'has mode 0740; only its owner may have access']
    expect(fault).to.equal(`Error: ${name} ${rule}: run chmod 700 ${name}`)
  })

  it('[13.2] of root are accepted as they are mounted: for a group, or for all in a read-only mount', async function () {
    if (process.getuid?.() !== 0) return this.skip()
    // Node.js can be in a folder that only root may enter.
    if (spawnSync(process.execPath, ['--version'], { uid: 65_534, gid: 65_534 }).status !== 0) return this.skip()
    const folder = await makeTemporaryDirectory()
    await chmod(folder, 0o755)
    const secret = join(folder, 'secret')
    await writeFile(secret, 'text')
    const module = new URL('../../../store/files/private-files.js', import.meta.url).href
    const program = `import { readPrivateFile } from '${module}'; console.log(readPrivateFile('${secret}', 10).kind)`
    const kindOf = async (mode: number, uid = 0) => {
      await chmod(secret, mode)
      await chown(secret, uid, 65_534)
      const child = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
        uid: 65_534,
        gid: 65_534,
      })
      return child.stdout.toString().trim()
    }
    for (const [mode, kind] of [
      [0o440, 'read'],
      [0o640, 'read'],
      [0o660, 'open'],
      [0o444, 'open'],
    ] as const)
      expect(await kindOf(mode), mode.toString(8)).to.equal(kind)
    expect(await kindOf(0o440, 65_534)).to.equal('open')
    await chown(secret, 0, 65_534)
    if (spawnSync('mount', ['--bind', folder, folder]).status !== 0) return this.skip()
    try {
      await chmod(secret, 0o444)
      spawnSync('mount', ['-o', 'remount,bind,ro', folder])
      const child = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
        uid: 65_534,
        gid: 65_534,
      })
      expect(child.stdout.toString().trim()).to.equal('read')
    } finally {
      spawnSync('umount', [folder])
    }
  })

  it('are created in directories whose names are on disk', async () => {
    const parent = await makeTemporaryDirectory()
    const path = join(parent, 'a', 'b')
    const make = (each: string) => syncedPaths(() => makePrivateDirectory(each))
    expect(await make(`${path}/`)).to.have.members([parent, join(parent, 'a')])
    expect((await stat(path)).mode & 0o777).to.equal(0o700)
    expect(await make(path)).to.deep.equal([])
    expect(await make(relative('.', join(path, 'c')))).to.deep.equal([path])
  })

  it('are in no directory if a file has its name', async () => {
    const path = join(await makeTemporaryDirectory(), 'file')
    await writeFile(path, '')
    expect(await makePrivateDirectory(path).catch((cause: unknown) => cause)).to.have.property('code', 'ENOTDIR')
  })
})
