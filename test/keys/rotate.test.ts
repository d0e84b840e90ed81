/** Rotation, whole and interrupted. */
import { copyFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openKeyring, RETIRED_KEY_SECONDS_MIN } from '../../keys/keyring.ts'
import { rotateKeys } from '../../keys/rotate.ts'
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

const rotate = (directory: string, seconds: number) => rotateKeys({ directory, now: clockAt(seconds) })

async function publishedKids(directory: string, seconds: number): Promise<string[]> {
  const { publicKeys } = await openKeyring({ directory, now: clockAt(seconds), generateIfEmpty: false })
  return publicKeys.map((key) => key.kid)
}

async function privateKids(directory: string): Promise<string[]> {
  const kids = (await filesIn(directory)).map((name) => name.replace('.jwk.json', ''))
  const jwks = await Promise.all(kids.map((kid) => readJwk(directory, kid)))
  return jwks.filter((jwk) => 'd' in jwk).map((jwk) => jwk.kid)
}

describe('rotation', () => {
  it('makes a new signing key and leaves the old one its public part and two times only', () =>
    inTemporaryDirectory(async (directory) => {
      const old = await makeKeyAt(directory, START_SECONDS)
      const { d: _, ...publicMembers } = await readJwk(directory, old)
      const { made, retired, removed } = await rotate(directory, START_SECONDS + 60)
      expect({ retired, removed }).to.deep.equal({ retired: [old], removed: [] })
      expect(await readJwk(directory, old)).to.deep.equal({ ...publicMembers, retired_at: START_SECONDS + 60 })
      expect(await publishedKids(directory, START_SECONDS + 60)).to.deep.equal([made, old])
      expect(await privateKids(directory)).to.deep.equal([made])
    }))

  it('signs with the new key even when the clock went back or stands still', () =>
    inTemporaryDirectory(async (directory) => {
      await makeKeyAt(directory, START_SECONDS)
      for (const seconds of [START_SECONDS, START_SECONDS - 3600]) {
        const { made } = await rotate(directory, seconds)
        expect((await publishedKids(directory, seconds))[0]).to.equal(made)
      }
    }))

  it('removes a retired key after its 30 days, not before', () =>
    inTemporaryDirectory(async (directory) => {
      const old = await makeKeyAt(directory, START_SECONDS)
      const end = START_SECONDS + RETIRED_KEY_SECONDS_MIN
      const second = await rotate(directory, START_SECONDS)
      const third = await rotate(directory, end)
      expect(third).to.deep.include({ retired: [second.made], removed: [] })
      const fourth = await rotate(directory, end + 1)
      expect(fourth).to.deep.include({ retired: [third.made], removed: [old] })
      expect(await publishedKids(directory, end + 1)).to.have.members([fourth.made, third.made, second.made])
      expect(await filesIn(directory)).to.have.length(3)
    }))

  it('is refused, and changes nothing, without a key to replace', () =>
    inTemporaryDirectory(async (directory) => {
      await expectKeyError(rotate(directory, START_SECONDS), { path: directory, rule: /no key to replace/ })
      expect(await filesIn(directory)).to.deep.equal([])
    }))

  it('is refused, and changes nothing, when a key file breaks a rule', () =>
    inTemporaryDirectory(async (directory) => {
      const kid = await makeKeyAt(directory, START_SECONDS)
      const path = await putKeyFile(directory, 'bad', '{}')
      await expectKeyError(rotate(directory, START_SECONDS), { path, rule: /not an EC key/ })
      expect(await filesIn(directory)).to.deep.equal([`${kid}.jwk.json`, 'bad.jwk.json'].toSorted())
    }))
})

describe('a rotation that a crash cuts short', () => {
  it('while the new key is written: the old key still signs, and the next rotation clears the rest', () =>
    inTemporaryDirectory(async (directory) => {
      const old = await makeKeyAt(directory, START_SECONDS)
      await writeFile(`${pathOf(directory, 'new')}.1.tmp`, '{"kty":"EC","d":"', { mode: 0o600 })
      expect(await publishedKids(directory, START_SECONDS)).to.deep.equal([old])
      const { made } = await rotate(directory, START_SECONDS + 60)
      expect(await filesIn(directory)).to.deep.equal([`${made}.jwk.json`, `${old}.jwk.json`].toSorted())
    }))

  it('after the new key is written: the new key signs, both are published, and the next rotation retires both', () =>
    inTemporaryDirectory(async (directory) => {
      const old = await makeKeyAt(directory, START_SECONDS)
      const saved = join(directory, 'saved')
      await copyFile(pathOf(directory, old), saved)
      const { made } = await rotate(directory, START_SECONDS + 60)
      await rename(saved, pathOf(directory, old))
      expect(await privateKids(directory)).to.have.members([old, made])
      expect(await publishedKids(directory, START_SECONDS + 60)).to.deep.equal([made, old])

      const next = await rotate(directory, START_SECONDS + 120)
      expect(next.retired).to.deep.equal([made, old])
      expect(await privateKids(directory)).to.deep.equal([next.made])
      expect(await readJwk(directory, old)).to.include({ retired_at: START_SECONDS + 120 })
      expect((await publishedKids(directory, START_SECONDS + 120)).toSorted()).to.deep.equal(
        [next.made, made, old].toSorted(),
      )
    }))

  it('while the old key is overwritten: the unfinished file counts for nothing', () =>
    inTemporaryDirectory(async (directory) => {
      const old = await makeKeyAt(directory, START_SECONDS)
      const made = await makeKeyAt(directory, START_SECONDS + 60)
      await writeFile(`${pathOf(directory, old)}.1.tmp`, '{"kty"', { mode: 0o600 })
      expect(await publishedKids(directory, START_SECONDS + 60)).to.deep.equal([made, old])
      await rotate(directory, START_SECONDS + 120)
      expect(await filesIn(directory)).to.have.length(3)
    }))
})

describe('two rotations at once', () => {
  it('leave a key that signs and publish every key there was', () =>
    inTemporaryDirectory(async (directory) => {
      const old = await makeKeyAt(directory, START_SECONDS)
      const results = await Promise.allSettled([rotate(directory, START_SECONDS), rotate(directory, START_SECONDS)])
      const made = results.filter((result) => result.status === 'fulfilled').map((result) => result.value.made)
      expect(await privateKids(directory)).not.to.have.length(0)
      expect(await publishedKids(directory, START_SECONDS)).to.include.members([old, ...made])
    }))
})
