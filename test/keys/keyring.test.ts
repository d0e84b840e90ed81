/** Which key signs, which keys are published, and the rules of the key directory. */
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { KEY_LEAD_SECONDS, openKeyring, PUBLISHED_MS, type Keyring } from '../../keys/keyring.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, filesIn, makeKeyAt, openTestLog, pathOf, START_SECONDS } from './support.ts'
import { announceKey } from '../../store/log/public-keys.ts'

const PUBLISHED_SECONDS = PUBLISHED_MS / 1000
const YEAR_SECONDS = 366 * 24 * 3600

let directory: string
let log: LmdbResponseLog
let clock: { seconds: number }

/** Opens the keys of one machine at a time. */
function open(seconds = START_SECONDS, { folder = directory, previous }: { folder?: string; previous?: string } = {}) {
  clock.seconds = seconds
  return openKeyring({ directory: folder, log, now: clockAt(seconds), ...(previous !== undefined && { previous }) })
}

const kidsOf = ({ keySet }: Keyring) => keySet.keys.map(({ kid }) => kid)

async function compromise(kid: string): Promise<void> {
  await announceKey(log, { kid, jwk: {}, compromised_at: '2027-01-15T08:00:00Z' })
}

beforeEach(async () => {
  directory = await makeTemporaryDirectory()
  ;({ log, clock } = await openTestLog(START_SECONDS))
})
afterEach(() => log.close())

describe('the keyring', () => {
  it('[13.3] signs with the newest key that was published for an hour, and keeps all in the key set', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    await open()
    const made = START_SECONDS + YEAR_SECONDS
    const next = await makeKeyAt(directory, made)
    expect(kidsOf(await open(made))).to.deep.equal([old, next])
    expect((await open(made + KEY_LEAD_SECONDS - 1)).kid).to.equal(old)
    expect(kidsOf(await open(made + KEY_LEAD_SECONDS))).to.deep.equal([next, old])
    expect(kidsOf(await open(made + 50 * YEAR_SECONDS))).to.deep.equal([next, old])
  })

  it('signs with the oldest key if the clock is set back', async () => {
    const kids = [await makeKeyAt(directory, START_SECONDS), await makeKeyAt(directory, START_SECONDS + 1)]
    expect((await open(START_SECONDS - 1_000_000)).kid).to.equal(kids[0])
  })

  it('signs with the newest key of the directory when a new log has none', async () => {
    const former = await makeKeyAt(directory, START_SECONDS - 2 * KEY_LEAD_SECONDS)
    const current = await makeKeyAt(directory, START_SECONDS - KEY_LEAD_SECONDS)
    const keyring = await open()
    expect(keyring).to.include({ unpublishedMs: 0, kid: current })
    expect(kidsOf(keyring)).to.have.members([current, former])
  })

  it('is refused while the key that signs is missing, and creates no other', async () => {
    const { kid } = await open()
    await rm(pathOf(directory, kid))
    const failure = await open(START_SECONDS, { previous: kid }).catch((error: unknown) => error)
    expect(failure).to.match(/lacks the key/)
    expect(await filesIn(directory)).to.deep.equal([])
  })
})

describe('the keys of several machines', () => {
  let other: string

  beforeEach(async () => void (other = await makeTemporaryDirectory()))

  it('[13.2, 13.3] are all published by each, and a machine that joins waits until the others publish its key', async () => {
    const first = await open()
    expect(first.unpublishedMs).to.equal(0)
    const second = await open(START_SECONDS, { folder: other })
    expect(second.unpublishedMs).to.be.within(PUBLISHED_MS - 1_000, PUBLISHED_MS)
    expect((await open(START_SECONDS + PUBLISHED_SECONDS, { folder: other })).unpublishedMs).to.equal(0)
    expect(kidsOf(await open())).to.deep.equal([first.kid, second.kid])
    expect(kidsOf(await open(START_SECONDS, { folder: other }))).to.deep.equal([second.kid, first.kid])
  })

  it('[13.3] sign only after every machine publishes them, also if their file is older than an hour', async () => {
    const { kid } = await open()
    const later = START_SECONDS + 3 * KEY_LEAD_SECONDS
    const copied = await makeKeyAt(directory, START_SECONDS + KEY_LEAD_SECONDS)
    expect((await open(later)).kid).to.equal(kid)
    expect((await open(later + PUBLISHED_SECONDS)).kid).to.equal(copied)
  })

  it('[13.4] are marked as compromised for all, and the machine of the key makes another one', async () => {
    const first = await open()
    const second = await open(START_SECONDS, { folder: other })
    await compromise(second.kid)
    const replaced = await open(START_SECONDS + 60, { folder: other, previous: second.kid })
    expect(replaced.kid).not.to.equal(second.kid)
    for (const { keySet } of [replaced, await open(START_SECONDS + 60)]) {
      expect(keySet.keys.map(({ kid }) => kid)).to.have.members([first.kid, replaced.kid])
      expect(keySet.compromised).to.deep.equal([{ kid: second.kid, compromised_at: '2027-01-15T08:00:00Z' }])
    }
    expect(await filesIn(other)).to.have.length(2)
  })
})

describe('a compromised key', () => {
  it('[13.4] that signs is replaced at once: by the oldest pending key, or else by a new one', async () => {
    const made = START_SECONDS - KEY_LEAD_SECONDS
    const current = await makeKeyAt(directory, made)
    const pending = [await makeKeyAt(directory, START_SECONDS - 10), await makeKeyAt(directory, START_SECONDS)]
    await open()
    await compromise(current)
    expect((await open()).kid).to.equal(pending[0])
    for (const kid of pending) await compromise(kid)
    const replaced = await open()
    expect([current, ...pending]).not.to.include(replaced.kid)
    expect(kidsOf(replaced)).to.deep.equal([replaced.kid])
  })

  it('[13.4] is not replaced by a key that it has replaced', async () => {
    const former = await makeKeyAt(directory, START_SECONDS - 3 * KEY_LEAD_SECONDS)
    const current = await makeKeyAt(directory, START_SECONDS - 2 * KEY_LEAD_SECONDS)
    expect((await open()).kid).to.equal(current)
    await compromise(current)
    const replaced = await open(START_SECONDS + PUBLISHED_SECONDS)
    expect([former, current]).not.to.include(replaced.kid)
    expect(kidsOf(replaced)).to.deep.equal([replaced.kid, former])
  })
})
