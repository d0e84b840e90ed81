/** The actions of the command `keys`: their output and refusals. */
import { join } from 'node:path'
import { expect } from 'chai'
import { compromiseKeys, generateFirstKey, listKeys, ROTATION_SECONDS_MIN, rotateKeys } from '../../keys/command.ts'
import { KEY_LEAD_SECONDS, openKeyring } from '../../keys/keyring.ts'
import type { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, filesIn, makeKeyAt, openTestLog, readJwk, START_SECONDS } from './support.ts'
import { readPublicKeys } from '../../store/log/public-keys.ts'

let directory: string
let log: LmdbResponseLog
let clock: { seconds: number }

async function run(action: typeof listKeys, folder = directory, seconds = START_SECONDS, kids: string[] = []) {
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  clock.seconds = seconds
  const isDone = await action({ directory: folder, log, now: clockAt(seconds), print, kids }).then(
    () => true,
    (cause: Error) => {
      lines.push(cause.message)
      return false
    },
  )
  return { isDone, lines, text: lines.join('\n') }
}

const announcedKids = async () => (await readPublicKeys(log)).map(({ kid }) => kid)
const kidIn = (name = '') => name.replace('.jwk.json', '')

describe('the command keys', () => {
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    ;({ log, clock } = await openTestLog(START_SECONDS))
  })
  afterEach(() => log.close())

  it('generates the first key and its directory, and announces the key', async () => {
    const folder = join(directory, 'keys')
    const { isDone, lines } = await run(generateFirstKey, folder)
    const kid = kidIn((await filesIn(folder))[0])
    expect(isDone).to.equal(true)
    // The first key signs at once, so no line names a time.
    expect(lines).to.deep.equal([`made ${kid}`])
    expect(await announcedKids()).to.deep.equal([kid])
  })

  it('does not generate a second key and refers to rotate', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const { isDone, text } = await run(generateFirstKey)
    expect(isDone).to.equal(false)
    expect(text).to.include(kid).and.to.include('keys rotate')
    expect(await filesIn(directory)).to.have.length(1)
  })

  it('[13.3] rotates at most once a week, also if the clock was set back, and only adds a file', async () => {
    expect(ROTATION_SECONDS_MIN).to.equal(604_800)
    const old = await makeKeyAt(directory, START_SECONDS)
    const before = await readJwk(directory, old)
    for (const seconds of [START_SECONDS - 3600, START_SECONDS + ROTATION_SECONDS_MIN - 1]) {
      const { isDone, text } = await run(rotateKeys, directory, seconds)
      expect(isDone).to.equal(false)
      expect(text).to.include('the next rotation is possible at 2027-01-22T08:00:00Z')
    }
    const { isDone, lines } = await run(rotateKeys, directory, START_SECONDS + ROTATION_SECONDS_MIN)
    expect(isDone).to.equal(true)
    expect(lines[0]).to.match(/^made [\w-]{43}$/)
    expect(lines[1]).to.match(/signs with it from 2027-01-22T09:00:00Z$/)
    expect(await announcedKids()).to.deep.equal([lines[0]?.replace('made ', '')])
    expect(await filesIn(directory)).to.have.length(2)
    expect(await readJwk(directory, old)).to.deep.equal(before)
  })

  it('lists every key of the log with its state', async () => {
    expect(await run(listKeys)).to.deep.include({ isDone: true, lines: ['no keys'] })
    const foreign = await makeTemporaryDirectory()
    const other = await makeKeyAt(foreign, START_SECONDS)
    await openKeyring({ directory: foreign, log, now: clockAt(START_SECONDS) })
    const first = await makeKeyAt(directory, START_SECONDS)
    await openKeyring({ directory, log, now: clockAt(START_SECONDS) })
    const week = START_SECONDS + ROTATION_SECONDS_MIN
    const second = (await run(rotateKeys, directory, week)).lines[0]?.replace('made ', '')
    const listed = async (seconds: number) => (await run(listKeys, directory, seconds)).lines
    expect(await listed(week)).to.have.members([
      `${second}  announced 2027-01-22T08:00:00.000Z  published, signs from 2027-01-22T09:00:00Z`,
      `${first}  announced 2027-01-15T08:00:00.000Z  published, signs on this machine`,
      `${other}  announced 2027-01-15T08:00:00.000Z  published`,
    ])
    expect(
      (await listed(week + KEY_LEAD_SECONDS)).filter((line) => line.endsWith('signs on this machine')),
    ).to.deep.equal([`${second}  announced 2027-01-22T08:00:00.000Z  published, signs on this machine`])
  })

  it('[13.4] marks keys of any machine as compromised once, and changes no file', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const elsewhere = await makeTemporaryDirectory()
    const before = await readJwk(directory, kid)
    await openKeyring({ directory, log, now: clockAt(START_SECONDS) })
    const { isDone, lines } = await run(compromiseKeys, elsewhere, START_SECONDS + 60, [kid])
    expect(isDone).to.equal(true)
    expect(lines[0]).to.equal(`marked ${kid} as compromised`)
    await run(compromiseKeys, directory, START_SECONDS + 120, [kid])
    expect((await run(listKeys)).text).to.include('compromised 2027-01-15T08:01:00Z, not published')
    expect(await readJwk(directory, kid)).to.deep.equal(before)
  })

  it('marks no key if one of the ids is unknown', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const { isDone, text } = await run(compromiseKeys, directory, START_SECONDS, [kid, 'x'])
    expect(isDone).to.equal(false)
    expect(text).to.include('has no key "x"')
    expect((await readPublicKeys(log)).map((key) => key.compromised_at)).to.deep.equal([null])
  })

  it('never prints a private part', async () => {
    const { text } = await run(generateFirstKey)
    const { d } = await readJwk(directory, kidIn((await filesIn(directory))[0]))
    const rotated = await run(rotateKeys, directory, START_SECONDS + ROTATION_SECONDS_MIN)
    const listed = await run(listKeys)
    expect(text + rotated.text + listed.text).not.to.include(d)
  })
})
