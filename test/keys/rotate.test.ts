/** Tests of complete, interrupted and concurrent rotations. */
import { copyFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openKeyring } from '../../keys/keyring.ts'
import { KEY_LEAD_SECONDS, ROTATION_SECONDS_MIN } from '../../keys/lifecycle.ts'
import type { SigningKey } from '../../keys/key-file.ts'
import { rotateKeys } from '../../keys/rotate.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, expectKeyError, filesIn, makeKeyAt, pathOf, putKeyFile, readJwk, START_SECONDS } from './support.ts'

let directory: string

/** The first time at which a key of the start can be replaced. */
const NEXT_SECONDS = START_SECONDS + ROTATION_SECONDS_MIN

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

  it('keeps only the public part and two times of a superseded key', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const { d: _, ...publicMembers } = await readJwk(directory, old)
    const second = await rotate(NEXT_SECONDS)
    const later = await rotate(NEXT_SECONDS + ROTATION_SECONDS_MIN)
    expect(later.retired).to.deep.equal([old])
    const retired_at = NEXT_SECONDS + KEY_LEAD_SECONDS
    expect(await readJwk(directory, old)).to.deep.equal({ ...publicMembers, retired_at })
    expect(await privateKids())
      .to.include.members([kidOf(second.made), kidOf(later.made)])
      .and.not.include(old)
  })

  it('[13.2] is refused within a week of the newest key, also if the clock was set back, and changes nothing', async () => {
    expect(ROTATION_SECONDS_MIN).to.equal(604_800)
    const old = await makeKeyAt(directory, START_SECONDS)
    const rule = /next rotation is possible at 2027-01-22T08:00:00Z/
    for (const seconds of [START_SECONDS - 3600, START_SECONDS, NEXT_SECONDS - 1])
      await expectKeyError(rotate(seconds), { path: directory, rule })
    expect(await filesIn(directory)).to.deep.equal([`${old}.jwk.json`])
    await rotate(NEXT_SECONDS)
    await expectKeyError(rotate(NEXT_SECONDS + 1), { path: directory, rule: /next rotation is possible at/ })
    expect(await filesIn(directory)).to.have.length(2)
  })

  it('[13.2] keeps every public key, so that old receipts verify', async () => {
    const kids = [await makeKeyAt(directory, START_SECONDS)]
    const weeks = 20
    for (let week = 1; week <= weeks; week += 1)
      kids.push(kidOf((await rotate(START_SECONDS + week * ROTATION_SECONDS_MIN)).made))
    expect(await publishedKids(START_SECONDS + weeks * ROTATION_SECONDS_MIN)).to.have.members(kids)
    expect(await privateKids()).to.have.length(2)
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
    const { made } = await rotate(NEXT_SECONDS)
    expect(await filesIn(directory)).to.deep.equal([`${kidOf(made)}.jwk.json`, `${old}.jwk.json`].toSorted())
  })

  it('before it overwrites a superseded key: the key set is the same, and the next rotation retires the key', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const saved = join(directory, 'saved')
    await copyFile(pathOf(directory, old), saved)
    const { made } = await rotate(NEXT_SECONDS)
    const later = NEXT_SECONDS + ROTATION_SECONDS_MIN
    const next = await rotate(later)
    const published = await publishedKids(later)
    await rename(saved, pathOf(directory, old))
    expect(await privateKids()).to.have.members([old, kidOf(made), kidOf(next.made)])
    expect(await publishedKids(later)).to.deep.equal(published)
    expect((await rotate(later + ROTATION_SECONDS_MIN)).retired).to.deep.equal([kidOf(made), old])
  })

  it('while it overwrites a superseded key: the temporary file is ignored', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const made = await makeKeyAt(directory, START_SECONDS + 60)
    const switched = START_SECONDS + 60 + KEY_LEAD_SECONDS
    await writeFile(`${pathOf(directory, old)}.1.tmp`, '{"kty"', { mode: 0o600 })
    expect(await publishedKids(switched)).to.deep.equal([made, old])
    await rotate(START_SECONDS + 60 + ROTATION_SECONDS_MIN)
    expect(await filesIn(directory)).to.have.length(3)
  })
})
