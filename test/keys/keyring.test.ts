/** Which key signs, which keys are published, and which directories are refused. */
import { chmod, mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openKeyring, RETIRED_KEY_SECONDS_MIN, type Keyring } from '../../keys/keyring.ts'
import {
  clockAt,
  expectKeyError,
  filesIn,
  inTemporaryDirectory,
  makeKeyAt,
  pathOf,
  putKeyFile,
  readJwk,
  START_SECONDS,
} from './support.ts'

const open = (directory: string, seconds = START_SECONDS, generateIfEmpty = false) =>
  openKeyring({ directory, now: clockAt(seconds), generateIfEmpty })

const kidsOf = (keyring: Keyring) => keyring.publicKeys.map((key) => key.kid)

/** Makes a key that is already retired. */
async function makeRetiredAt(directory: string, retiredAt: number): Promise<string> {
  const { d: _, ...jwk } = await readJwk(directory, await makeKeyAt(directory, START_SECONDS - 1000))
  await putKeyFile(directory, jwk.kid, JSON.stringify({ ...jwk, retired_at: retiredAt }))
  return jwk.kid
}

describe('the keyring', () => {
  it('is made on first start, in a directory of mode 0700, and is the same on the next start', () =>
    inTemporaryDirectory(async (parent) => {
      const directory = join(parent, 'data', 'keys')
      const first = await open(directory, START_SECONDS, true)
      expect((await stat(directory)).mode & 0o777).to.equal(0o700)
      const second = await open(directory, START_SECONDS + 5, true)
      expect(second.kid).to.equal(first.kid)
      expect(kidsOf(second)).to.deep.equal([first.kid])
      expect(await filesIn(directory)).to.have.length(1)
    }))

  it('is refused, and nothing is made, when there is no key and none is asked for', () =>
    inTemporaryDirectory(async (parent) => {
      const directory = join(parent, 'keys')
      await expectKeyError(open(directory), { path: directory, rule: /no key to sign with: run .* keys generate/ })
      expect(await filesIn(parent)).to.deep.equal([])
    }))

  it('is refused rather than remade when only retired keys are left', () =>
    inTemporaryDirectory(async (directory) => {
      await makeRetiredAt(directory, START_SECONDS)
      await expectKeyError(open(directory, START_SECONDS, true), { path: directory, rule: /no key to sign with/ })
      expect(await filesIn(directory)).to.have.length(1)
    }))

  it('signs with the private key of the greatest iat and publishes the others, whatever their order on disk', () =>
    inTemporaryDirectory(async (directory) => {
      const kids: string[] = []
      for (let age = 0; age < 4; age += 1) kids.push(await makeKeyAt(directory, START_SECONDS - age))
      const keyring = await open(directory)
      expect(keyring.kid).to.equal(kids[0])
      expect(kidsOf(keyring)).to.deep.equal(kids)
    }))

  it('signs with the first kid of two made in the same second', () =>
    inTemporaryDirectory(async (directory) => {
      const kids = [await makeKeyAt(directory, START_SECONDS), await makeKeyAt(directory, START_SECONDS)].toSorted()
      const keyring = await open(directory)
      expect(kidsOf(keyring)).to.deep.equal(kids)
      expect(keyring.kid).to.equal(kids[0])
    }))

  it('publishes the current key first, then the retired, latest first', () =>
    inTemporaryDirectory(async (directory) => {
      const older = await makeRetiredAt(directory, START_SECONDS - 20)
      const newer = await makeRetiredAt(directory, START_SECONDS - 10)
      const current = await makeKeyAt(directory, START_SECONDS)
      expect(kidsOf(await open(directory))).to.deep.equal([current, newer, older])
    }))

  it('publishes a retired key for 30 days and no longer', () =>
    inTemporaryDirectory(async (directory) => {
      expect(RETIRED_KEY_SECONDS_MIN).to.equal(2_592_000)
      const current = await makeKeyAt(directory, START_SECONDS)
      const retired = await makeRetiredAt(directory, START_SECONDS)
      const end = START_SECONDS + RETIRED_KEY_SECONDS_MIN
      expect(kidsOf(await open(directory, end - 1))).to.deep.equal([current, retired])
      expect(kidsOf(await open(directory, end))).to.deep.equal([current, retired])
      expect(kidsOf(await open(directory, end + 1))).to.deep.equal([current])
    }))

  it('is refused when any key file breaks a rule, even a retired one', () =>
    inTemporaryDirectory(async (directory) => {
      await makeKeyAt(directory, START_SECONDS)
      const path = pathOf(directory, await makeRetiredAt(directory, START_SECONDS))
      await chmod(path, 0o644)
      await expectKeyError(open(directory), { path, rule: /mode 0644/ })
      await expectKeyError(open(directory, START_SECONDS, true), { path, rule: /mode 0644/ })
    }))

  it('is refused when a key file is a symbolic link', () =>
    inTemporaryDirectory(async (directory) => {
      await makeKeyAt(directory, START_SECONDS)
      const path = pathOf(directory, 'link')
      await symlink('/dev/null', path)
      await expectKeyError(open(directory), { path, rule: /ELOOP/ })
    }))

  it('leaves other files alone', () =>
    inTemporaryDirectory(async (directory) => {
      const kid = await makeKeyAt(directory, START_SECONDS)
      await writeFile(join(directory, 'README'), 'notes')
      await writeFile(`${pathOf(directory, 'half')}.1.tmp`, '{')
      expect((await open(directory)).kid).to.equal(kid)
      expect(await filesIn(directory)).to.have.length(3)
    }))

  for (const mode of [0o720, 0o702, 0o770, 0o777]) {
    it(`is refused in a directory of mode 0${mode.toString(8)}`, () =>
      inTemporaryDirectory(async (directory) => {
        await makeKeyAt(directory, START_SECONDS)
        await chmod(directory, mode)
        await expectKeyError(open(directory), { path: directory, rule: /writable by its owner only: run chmod 700/ })
      }))
  }

  it('is accepted in a directory that others may list', () =>
    inTemporaryDirectory(async (directory) => {
      const kid = await makeKeyAt(directory, START_SECONDS)
      await chmod(directory, 0o755)
      expect((await open(directory)).kid).to.equal(kid)
    }))

  it('is refused when its directory is a file, or cannot be made', () =>
    inTemporaryDirectory(async (parent) => {
      const file = join(parent, 'file')
      await writeFile(file, '', { mode: 0o600 })
      await expectKeyError(open(file), { path: file, rule: /ENOTDIR/ })
      const below = join(file, 'keys')
      await expectKeyError(open(below, START_SECONDS, true), { path: below, rule: /ENOTDIR/ })
    }))

  it('keeps an error on one line when the path has several', () =>
    inTemporaryDirectory(async (parent) => {
      const directory = join(parent, 'two\nlines')
      await mkdir(directory, { mode: 0o700 })
      await expectKeyError(open(directory), { path: String.raw`two\nlines`, rule: /no key to sign with/ })
    }))
})
