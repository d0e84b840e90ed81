/** Tests of complete, interrupted and concurrent rotations. */
import { copyFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openKeyring, RETIRED_KEY_SECONDS_MIN } from '../../keys/keyring.ts'
import { rotateKeys } from '../../keys/rotate.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, expectKeyError, filesIn, makeKeyAt, pathOf, putKeyFile, readJwk, START_SECONDS } from './support.ts'

let directory: string

const rotate = (seconds: number) => rotateKeys({ directory, now: clockAt(seconds) })

async function publishedKids(seconds: number): Promise<string[]> {
  const { publicKeys } = await openKeyring({ directory, now: clockAt(seconds), generateIfEmpty: false })
  return publicKeys.map((key) => key.kid)
}

async function privateKids(): Promise<string[]> {
  const kids = (await filesIn(directory)).map((name) => name.replace('.jwk.json', ''))
  const jwks = await Promise.all(kids.map((kid) => readJwk(directory, kid)))
  return jwks.filter((jwk) => 'd' in jwk).map((jwk) => jwk.kid)
}

describe('rotation', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('creates a new signing key and keeps only the public part and two times of the old one', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const { d: _, ...publicMembers } = await readJwk(directory, old)
    const { made, retired, removed } = await rotate(START_SECONDS + 60)
    expect({ retired, removed }).to.deep.equal({ retired: [old], removed: [] })
    expect(await readJwk(directory, old)).to.deep.equal({ ...publicMembers, retired_at: START_SECONDS + 60 })
    expect(await publishedKids(START_SECONDS + 60)).to.deep.equal([made, old])
    expect(await privateKids()).to.deep.equal([made])
  })

  it('signs with the new key even if the clock stands still or is set back', async () => {
    await makeKeyAt(directory, START_SECONDS)
    for (const seconds of [START_SECONDS, START_SECONDS - 3600]) {
      const { made } = await rotate(seconds)
      expect((await publishedKids(seconds))[0]).to.equal(made)
    }
  })

  it('removes a retired key after 30 days', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const end = START_SECONDS + RETIRED_KEY_SECONDS_MIN
    const second = await rotate(START_SECONDS)
    const third = await rotate(end)
    expect(third).to.deep.include({ retired: [second.made], removed: [] })
    const fourth = await rotate(end + 1)
    expect(fourth).to.deep.include({ retired: [third.made], removed: [old] })
    expect(await publishedKids(end + 1)).to.have.members([fourth.made, third.made, second.made])
    expect(await filesIn(directory)).to.have.length(3)
  })

  it('is refused without a key to replace and changes nothing', async () => {
    await expectKeyError(rotate(START_SECONDS), { path: directory, rule: /no key to replace/ })
    expect(await filesIn(directory)).to.deep.equal([])
  })

  it('is refused if a key file breaks a rule and changes nothing', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const path = await putKeyFile(directory, 'bad', '{}')
    await expectKeyError(rotate(START_SECONDS), { path, rule: /not an EC key/ })
    expect(await filesIn(directory)).to.deep.equal([`${kid}.jwk.json`, 'bad.jwk.json'].toSorted())
  })
})

describe('a rotation that a crash interrupts', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('while it writes the new key: the old key signs, and the next rotation removes the temporary file', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    await writeFile(`${pathOf(directory, 'new')}.1.tmp`, '{"kty":"EC","d":"', { mode: 0o600 })
    expect(await publishedKids(START_SECONDS)).to.deep.equal([old])
    const { made } = await rotate(START_SECONDS + 60)
    expect(await filesIn(directory)).to.deep.equal([`${made}.jwk.json`, `${old}.jwk.json`].toSorted())
  })

  it('after it has written the new key: the new key signs, both are published, and the next rotation retires both', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const saved = join(directory, 'saved')
    await copyFile(pathOf(directory, old), saved)
    const { made } = await rotate(START_SECONDS + 60)
    await rename(saved, pathOf(directory, old))
    expect(await privateKids()).to.have.members([old, made])
    expect(await publishedKids(START_SECONDS + 60)).to.deep.equal([made, old])

    const next = await rotate(START_SECONDS + 120)
    expect(next.retired).to.deep.equal([made, old])
    expect(await privateKids()).to.deep.equal([next.made])
    expect(await readJwk(directory, old)).to.include({ retired_at: START_SECONDS + 120 })
    expect((await publishedKids(START_SECONDS + 120)).toSorted()).to.deep.equal([next.made, made, old].toSorted())
  })

  it('while it overwrites the old key: the temporary file is ignored', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const made = await makeKeyAt(directory, START_SECONDS + 60)
    await writeFile(`${pathOf(directory, old)}.1.tmp`, '{"kty"', { mode: 0o600 })
    expect(await publishedKids(START_SECONDS + 60)).to.deep.equal([made, old])
    await rotate(START_SECONDS + 120)
    expect(await filesIn(directory)).to.have.length(3)
  })
})

describe('two concurrent rotations', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('leave a signing key and publish every former key', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const results = await Promise.allSettled([rotate(START_SECONDS), rotate(START_SECONDS)])
    const made = results.filter((result) => result.status === 'fulfilled').map((result) => result.value.made)
    expect(await privateKids()).not.to.have.length(0)
    expect(await publishedKids(START_SECONDS)).to.include.members([old, ...made])
  })
})
