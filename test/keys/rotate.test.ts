/** Tests of complete, interrupted and concurrent rotations. */
import { copyFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openKeyring } from '../../keys/keyring.ts'
import { KEY_LEAD_SECONDS, RETIRED_KEY_SECONDS_MIN } from '../../keys/lifecycle.ts'
import type { SigningKey } from '../../keys/key-file.ts'
import { rotateKeys } from '../../keys/rotate.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, expectKeyError, filesIn, makeKeyAt, pathOf, putKeyFile, readJwk, START_SECONDS } from './support.ts'

let directory: string

const rotate = (seconds: number) => rotateKeys({ directory, now: clockAt(seconds) })

const kidOf = (key: SigningKey) => key.publicJwk.kid

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

  it('creates a key that is published at once and signs an hour later', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const { made, retired, removed } = await rotate(START_SECONDS + 60)
    expect({ retired, removed }).to.deep.equal({ retired: [], removed: [] })
    expect(await publishedKids(START_SECONDS + 60)).to.deep.equal([old, kidOf(made)])
    expect(await publishedKids(START_SECONDS + 60 + KEY_LEAD_SECONDS)).to.deep.equal([kidOf(made), old])
    expect(await privateKids()).to.have.members([old, kidOf(made)])
  })

  it('keeps only the public part and two times of a superseded key', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const { d: _, ...publicMembers } = await readJwk(directory, old)
    const second = await rotate(START_SECONDS + 60)
    const switched = START_SECONDS + 60 + KEY_LEAD_SECONDS
    expect((await rotate(switched - 1)).retired).to.deep.equal([])
    const later = await rotate(switched + 5)
    expect(later.retired).to.deep.equal([old])
    expect(await readJwk(directory, old)).to.deep.equal({ ...publicMembers, retired_at: switched })
    expect(await privateKids())
      .to.include.members([kidOf(second.made), kidOf(later.made)])
      .and.not.include(old)
  })

  it('creates the next key to sign, also if the clock stands still or is set back', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const kids = [old]
    for (const seconds of [START_SECONDS, START_SECONDS, START_SECONDS - 3600]) {
      const { made } = await rotate(seconds)
      expect(await publishedKids(seconds)).to.deep.equal([old, kidOf(made), ...kids.slice(1).toReversed()])
      kids.push(kidOf(made))
    }
    expect(await publishedKids(START_SECONDS + KEY_LEAD_SECONDS + 3)).to.deep.equal(kids.toReversed())
  })

  it('removes a retired key after 30 days, with and without a rotation in between', async () => {
    const first = await makeKeyAt(directory, START_SECONDS)
    const second = await rotate(START_SECONDS + 60)
    const end = START_SECONDS + 60 + KEY_LEAD_SECONDS + RETIRED_KEY_SECONDS_MIN
    expect((await rotate(end)).removed).to.deep.equal([])
    expect((await rotate(end + 1)).removed).to.deep.equal([first])
    const secondEnd = end + KEY_LEAD_SECONDS + RETIRED_KEY_SECONDS_MIN
    expect((await rotate(secondEnd + 1)).removed).to.deep.equal([kidOf(second.made)])
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
    expect(await filesIn(directory)).to.deep.equal([`${kidOf(made)}.jwk.json`, `${old}.jwk.json`].toSorted())
  })

  it('before it overwrites a superseded key: the key set is the same, and the next rotation retires the key', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const saved = join(directory, 'saved')
    await copyFile(pathOf(directory, old), saved)
    const { made } = await rotate(START_SECONDS + 60)
    const switched = START_SECONDS + 60 + KEY_LEAD_SECONDS
    const next = await rotate(switched)
    const published = await publishedKids(switched)
    await rename(saved, pathOf(directory, old))
    expect(await privateKids()).to.have.members([old, kidOf(made), kidOf(next.made)])
    expect(await publishedKids(switched)).to.deep.equal(published)
    expect((await rotate(switched + 60)).retired).to.deep.equal([old])
  })

  it('while it overwrites a superseded key: the temporary file is ignored', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const made = await makeKeyAt(directory, START_SECONDS + 60)
    const switched = START_SECONDS + 60 + KEY_LEAD_SECONDS
    await writeFile(`${pathOf(directory, old)}.1.tmp`, '{"kty"', { mode: 0o600 })
    expect(await publishedKids(switched)).to.deep.equal([made, old])
    await rotate(switched)
    expect(await filesIn(directory)).to.have.length(3)
  })
})

describe('two concurrent rotations', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('leave a signing key and publish every former key', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const results = await Promise.allSettled([rotate(START_SECONDS), rotate(START_SECONDS)])
    const made = results.filter((result) => result.status === 'fulfilled').map((result) => kidOf(result.value.made))
    expect(await privateKids()).not.to.have.length(0)
    expect(await publishedKids(START_SECONDS)).to.include.members([old, ...made])
  })
})
