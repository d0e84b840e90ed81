/** The actions of the command `keys`: their output and refusals. */
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { compromiseAndReport, generateFirstKey, listKeys, rotateAndReport } from '../../keys/command.ts'
import { KeyError } from '../../keys/errors.ts'
import { KEY_LEAD_SECONDS, ROTATION_SECONDS_MIN } from '../../keys/lifecycle.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, filesIn, makeKeyAt, pathOf, readJwk, START_SECONDS } from './support.ts'

let directory: string

async function run(action: typeof listKeys, folder: string, seconds = START_SECONDS, kids: string[] = []) {
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const isDone = await action({ directory: folder, now: clockAt(seconds), print, kids }).then(
    () => true,
    (cause: unknown) => {
      if (!(cause instanceof KeyError)) throw cause
      lines.push(cause.message)
      return false
    },
  )
  return { isDone, lines, text: lines.join('\n') }
}

describe('the command keys', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('generates the first key and its directory', async () => {
    const folder = join(directory, 'keys')
    const { isDone, lines } = await run(generateFirstKey, folder)
    const [file] = await filesIn(folder)
    expect(isDone).to.equal(true)
    expect(lines).to.deep.equal([`made ${file?.replace('.jwk.json', '')}`])
  })

  it('does not generate a second key and refers to rotate', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const { isDone, text } = await run(generateFirstKey, directory)
    expect(isDone).to.equal(false)
    expect(text).to.include(kid).and.to.include('keys rotate')
    expect(await filesIn(directory)).to.have.length(1)
  })

  it('rotates and prints the created and retired keys', async () => {
    const old = await makeKeyAt(directory, START_SECONDS)
    const tooEarly = await run(rotateAndReport, directory, START_SECONDS + ROTATION_SECONDS_MIN - 1)
    expect(tooEarly.isDone).to.equal(false)
    expect(tooEarly.text).to.include('the next rotation is possible at 2027-01-22T08:00:00Z')
    const first = await run(rotateAndReport, directory, START_SECONDS + ROTATION_SECONDS_MIN)
    expect(first.isDone).to.equal(true)
    expect(first.lines).to.have.length(2)
    expect(first.lines[0]).to.match(/^made [\w-]{43}$/)
    expect(first.lines[1]).to.equal(
      'a running service publishes the new key within a minute and signs with it from 2027-01-22T09:00:00Z',
    )
    const second = await run(rotateAndReport, directory, START_SECONDS + 2 * ROTATION_SECONDS_MIN)
    expect(second.lines).to.include(`retired ${old}`)
  })

  it('does not rotate without a key and refers to generate', async () => {
    const { isDone, text } = await run(rotateAndReport, directory)
    expect(isDone).to.equal(false)
    expect(text).to.include('keys generate')
  })

  it('lists every key with its time and state', async () => {
    expect(await run(listKeys, directory)).to.deep.include({ isDone: true, lines: ['no keys'] })
    const first = await makeKeyAt(directory, START_SECONDS)
    const second = await makeKeyAt(directory, START_SECONDS + 1)
    const switched = START_SECONDS + 1 + KEY_LEAD_SECONDS
    const { isDone, lines } = await run(listKeys, directory, switched - 1)
    expect(isDone).to.equal(true)
    expect(lines).to.deep.equal([
      `${first}  made 2027-01-15T08:00:00Z  current`,
      `${second}  made 2027-01-15T08:00:01Z  published, signs from 2027-01-15T09:00:01Z`,
    ])
    const formerLine = `${first}  made 2027-01-15T08:00:00Z  retired 2027-01-15T09:00:01Z`
    expect((await run(listKeys, directory, switched)).lines).to.deep.equal([
      `${second}  made 2027-01-15T08:00:01Z  current`,
      formerLine,
    ])
    // A rotation erases the private part of the former key and changes nothing of its state.
    const later = START_SECONDS + 1 + ROTATION_SECONDS_MIN
    await run(rotateAndReport, directory, later)
    expect((await run(listKeys, directory, later)).lines[2]).to.equal(formerLine)
  })

  it('marks keys as compromised, names the key that signs, and lists them', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const unknown = await run(compromiseAndReport, directory, START_SECONDS, ['x'])
    expect(unknown).to.deep.include({ isDone: false })
    expect(unknown.text).to.include('has no key "x"')
    const { isDone, lines } = await run(compromiseAndReport, directory, START_SECONDS + 60, [kid])
    expect(isDone).to.equal(true)
    const made = lines[1]?.replace('made ', '') ?? ''
    expect(lines).to.deep.equal([
      `marked ${kid} as compromised`,
      `made ${made}`,
      `a running service signs with ${made} within a minute`,
    ])
    expect((await run(listKeys, directory, START_SECONDS + 60)).lines).to.deep.equal([
      `${made}  made 2027-01-15T08:01:00Z  current`,
      `${kid}  made 2027-01-15T08:00:00Z  compromised 2027-01-15T08:01:00Z, not published`,
    ])
    const again = await run(compromiseAndReport, directory, START_SECONDS + 120, [kid])
    expect(again.lines).to.deep.equal([lines[0], lines[2]])
  })

  it('fails with one line, without key material, if a key file breaks a rule', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const { d } = await readJwk(directory, kid)
    await chmod(pathOf(directory, kid), 0o640)
    for (const action of [generateFirstKey, rotateAndReport, listKeys]) {
      const { isDone, lines, text } = await run(action, directory)
      expect(isDone).to.equal(false)
      expect(lines).to.have.length(1)
      expect(text)
        .to.include(kid)
        .and.to.match(/mode 0640/)
        .and.not.to.include(d)
    }
  })

  it('never prints a private part', async () => {
    const { text } = await run(generateFirstKey, directory)
    const { d } = await readJwk(directory, text.replace('made ', ''))
    const rotated = await run(rotateAndReport, directory, START_SECONDS + ROTATION_SECONDS_MIN)
    const listed = await run(listKeys, directory)
    expect(text + rotated.text + listed.text).not.to.include(d)
  })
})
