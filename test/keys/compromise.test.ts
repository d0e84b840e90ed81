/** Keys that are marked as compromised: what is published, what signs, and a crash in between. */
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

  it('[13.4] is marked by a repetition if a crash came after the new key was made', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const made = await makeKeyAt(directory, LATER_SECONDS)
    expect((await open()).kid).to.equal(kid)
    await mark(kid)
    expect((await published()).keys).to.deep.equal([made])
  })

  it('is refused if it is unknown or marked already, and nothing changes', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    await expectKeyError(mark(kid, 'unknown'), { path: directory, rule: /has no key "unknown"/ })
    expect(await filesIn(directory)).to.have.length(1)
    await mark(kid)
    await expectKeyError(mark(kid), { path: directory, rule: /that is not marked yet/ })
  })

  it('is refused with a private part in its file', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const jwk = await readJwk(directory, kid)
    const path = await putKeyFile(directory, kid, JSON.stringify({ ...jwk, compromised_at: START_SECONDS }))
    await expectKeyError(open(), { path, rule: /both a private part and the time of a compromise/, secrets: [jwk.d] })
  })
})
