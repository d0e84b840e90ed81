/** Keys that are marked as compromised: which keys are published, which key signs, and a crash during the command. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { compromiseKeys } from '../../keys/compromise.ts'
import { jwksBody, openKeyring } from '../../keys/keyring.ts'
import { KEY_LEAD_SECONDS, ROTATION_SECONDS_MIN } from '../../keys/lifecycle.ts'
import { rotateKeys } from '../../keys/rotate.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, expectKeyError, filesIn, makeKeyAt, putKeyFile, readJwk, START_SECONDS } from './support.ts'

const LATER_SECONDS = START_SECONDS + KEY_LEAD_SECONDS
const LATER = new Date(LATER_SECONDS * 1000).toISOString().replace('.000Z', 'Z')

let directory: string

const mark = (...kids: string[]) => compromiseKeys({ directory, kids, now: clockAt(LATER_SECONDS) })
const open = (seconds = LATER_SECONDS) => openKeyring({ directory, now: clockAt(seconds), generateIfEmpty: true })

const kidIn = (name: string) => name.replace('.jwk.json', '')

async function readFiles(): Promise<Map<string, string>> {
  const names = await filesIn(directory)
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')))
  return new Map(names.map((name, index) => [name, texts[index] ?? '']))
}

async function restoreFiles(files: Map<string, string>): Promise<void> {
  for (const name of await filesIn(directory)) await rm(join(directory, name))
  for (const [name, text] of files) await putKeyFile(directory, kidIn(name), text)
}

async function published() {
  const { keys, compromised } = jwksBody(await open())
  return { keys: keys.map(({ kid }) => kid), compromised }
}

describe('a compromised key', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('[13.4] leaves the key set, which lists it with its time, and loses its private part', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS - 10)
    const other = await makeKeyAt(directory, START_SECONDS)
    expect((await mark(kid)).made).to.equal(undefined)
    expect(await published()).to.deep.equal({ keys: [other], compromised: [{ kid, compromised_at: LATER }] })
    expect(await readJwk(directory, kid)).to.not.have.property('d')
  })

  it('[13.4] that signs is replaced at once: by a published key, or else by a new one', async () => {
    const [first, pending] = [await makeKeyAt(directory, START_SECONDS), await makeKeyAt(directory, LATER_SECONDS)]
    await mark(first)
    expect((await open()).kid).to.equal(pending)
    const { made } = await mark(pending)
    expect((await open()).kid).to.equal(made?.publicJwk.kid)
    expect((await published()).compromised.map(({ kid }) => kid)).to.have.members([first, pending])
  })

  it('[13.4] is marked together with all other private keys, and one new key signs', async () => {
    const kids = [await makeKeyAt(directory, START_SECONDS), await makeKeyAt(directory, LATER_SECONDS)]
    const { made } = await mark(...kids)
    expect((await published()).keys).to.deep.equal([made?.publicJwk.kid])
  })

  it('[13.4] can be a retired key', async () => {
    const old = await makeKeyAt(directory, START_SECONDS - 2 * ROTATION_SECONDS_MIN)
    const at = async (seconds: number) => rotateKeys({ directory, now: clockAt(seconds) })
    await at(START_SECONDS - ROTATION_SECONDS_MIN)
    expect((await at(START_SECONDS)).retired).to.deep.equal([old])
    await mark(old)
    expect((await published()).keys)
      .to.have.length(2)
      .and.not.include(old)
    expect((await published()).compromised).to.deep.equal([{ kid: old, compromised_at: LATER }])
  })

  it('[13.4] that signs is not replaced by a superseded key, whose private part is erased', async () => {
    const superseded = await makeKeyAt(directory, START_SECONDS - 10)
    const current = await makeKeyAt(directory, START_SECONDS)
    expect((await open()).kid).to.equal(current)
    const { made, retired } = await mark(current)
    expect(retired).to.deep.equal([superseded])
    expect((await open()).kid).to.equal(made?.publicJwk.kid)
    expect((await published()).keys).to.deep.equal([made?.publicJwk.kid, superseded])
    const { retired_at, ...jwk } = (await readJwk(directory, superseded)) as unknown as Record<string, unknown>
    expect(retired_at).to.equal(LATER_SECONDS)
    expect(jwk).to.not.have.property('d')
  })

  it('[13.4] is marked by a repetition after a crash at each step, and one new key signs', async () => {
    const superseded = await makeKeyAt(directory, START_SECONDS - 10)
    const kids = [await makeKeyAt(directory, START_SECONDS), await makeKeyAt(directory, START_SECONDS + 1)]
    const before = await readFiles()
    const { made } = await mark(...kids)
    const after = await readFiles()
    const madeKid = made?.publicJwk.kid ?? expect.fail('no new key')
    const steps = [madeKid, superseded, ...kids].map((kid) => `${kid}.jwk.json`)
    for (const done of steps.keys()) {
      // The directory after `done + 1` writes of the command.
      await restoreFiles(before)
      for (const name of steps.slice(0, done + 1)) await putKeyFile(directory, kidIn(name), after.get(name) ?? '')
      expect((await open()).kid, `after ${done + 1} writes`).to.be.oneOf([...kids, madeKid])
      expect((await mark(...kids)).made).to.equal(undefined)
      expect((await open()).kid).to.equal(madeKid)
      expect(await readFiles()).to.deep.equal(after)
    }
  })

  it('[13.4] keeps its time if it is marked again', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    await mark(kid)
    const again = await compromiseKeys({ directory, kids: [kid], now: clockAt(LATER_SECONDS + 60) })
    expect(again).to.deep.equal({ made: undefined, retired: [] })
    expect((await published()).compromised).to.deep.equal([{ kid, compromised_at: LATER }])
  })

  it('is refused if it is unknown, and nothing changes', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    await expectKeyError(mark(kid, 'unknown'), { path: directory, rule: /has no key "unknown"/ })
    expect((await published()).keys).to.deep.equal([kid])
    expect(await filesIn(directory)).to.have.length(1)
  })

  it('is refused with a private part in its file', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const jwk = await readJwk(directory, kid)
    const path = await putKeyFile(directory, kid, JSON.stringify({ ...jwk, compromised_at: START_SECONDS }))
    await expectKeyError(open(), { path, rule: /both a private part and the time of a compromise/, secrets: [jwk.d] })
  })
})
