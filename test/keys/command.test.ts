/** The command `keys`: its lines and exit codes. */
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { keysCommand } from '../../keys/command.ts'
import { RETIRED_KEY_SECONDS_MIN } from '../../keys/keyring.ts'
import { clockAt, filesIn, inTemporaryDirectory, makeKeyAt, pathOf, readJwk, START_SECONDS } from './support.ts'

async function run(directory: string, args: string[], seconds = START_SECONDS) {
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const code = await keysCommand({ args, directory, now: clockAt(seconds), print })
  return { code, lines, text: lines.join('\n') }
}

describe('the command keys', () => {
  for (const args of [[], ['help'], ['generate', 'now'], ['Rotate'], [''], ['constructor']]) {
    it(`prints its usage and exits with 2 for ${JSON.stringify(args)}`, () =>
      inTemporaryDirectory(async (directory) => {
        const { code, text } = await run(directory, args)
        expect(code).to.equal(2)
        expect(text).to.match(/^usage: keys generate/)
        expect(await filesIn(directory)).to.deep.equal([])
      }))
  }

  it('generates the first key, and its directory', () =>
    inTemporaryDirectory(async (parent) => {
      const directory = join(parent, 'keys')
      const { code, lines } = await run(directory, ['generate'])
      const [file] = await filesIn(directory)
      expect(code).to.equal(0)
      expect(lines).to.deep.equal([`made ${file?.replace('.jwk.json', '')}`])
    }))

  it('refuses to generate beside a current key and names rotate', () =>
    inTemporaryDirectory(async (directory) => {
      const kid = await makeKeyAt(directory, START_SECONDS)
      const { code, text } = await run(directory, ['generate'])
      expect(code).to.equal(1)
      expect(text).to.include(kid).and.to.include('keys rotate')
      expect(await filesIn(directory)).to.have.length(1)
    }))

  it('rotates, and says what it made, retired and removed', () =>
    inTemporaryDirectory(async (directory) => {
      const old = await makeKeyAt(directory, START_SECONDS)
      const first = await run(directory, ['rotate'])
      expect(first.code).to.equal(0)
      expect(first.lines[0]).to.match(/^made [\w-]{43}$/)
      expect(first.lines[1]).to.equal(`retired ${old}`)
      const second = await run(directory, ['rotate'], START_SECONDS + RETIRED_KEY_SECONDS_MIN + 1)
      expect(second.lines).to.include(`removed ${old}`)
    }))

  it('refuses to rotate without a key and names generate', () =>
    inTemporaryDirectory(async (directory) => {
      const { code, text } = await run(directory, ['rotate'])
      expect(code).to.equal(1)
      expect(text).to.include('keys generate')
    }))

  it('lists every key with its time and state', () =>
    inTemporaryDirectory(async (directory) => {
      expect(await run(directory, ['list'])).to.deep.include({ code: 0, lines: ['no keys'] })
      const first = await makeKeyAt(directory, START_SECONDS)
      await run(directory, ['rotate'], START_SECONDS + 1)
      const extra = await makeKeyAt(directory, START_SECONDS)
      const { code, lines } = await run(directory, ['list'], START_SECONDS + 1)
      expect(code).to.equal(0)
      expect(lines).to.have.length(3)
      expect(lines[0]).to.match(/^[\w-]{43} {2}made 2027-01-15T08:00:01Z {2}current$/)
      expect(lines[1]).to.equal(`${extra}  made 2027-01-15T08:00:00Z  not retired yet: run keys rotate`)
      expect(lines[2]).to.equal(
        `${first}  made 2027-01-15T08:00:00Z  retired 2027-01-15T08:00:01Z, published until 2027-02-14T08:00:01Z`,
      )
      const later = await run(directory, ['list'], START_SECONDS + RETIRED_KEY_SECONDS_MIN + 2)
      expect(later.lines[2]).to.match(/no longer published$/)
    }))

  it('prints one line without key material and exits with 1 when a key file breaks a rule', () =>
    inTemporaryDirectory(async (directory) => {
      const kid = await makeKeyAt(directory, START_SECONDS)
      const { d } = await readJwk(directory, kid)
      await chmod(pathOf(directory, kid), 0o640)
      for (const action of ['generate', 'rotate', 'list']) {
        const { code, lines } = await run(directory, [action])
        expect(code).to.equal(1)
        expect(lines).to.have.length(1)
        expect(lines[0])
          .to.include(kid)
          .and.to.match(/mode 0640/)
          .and.not.to.include(d)
      }
    }))

  it('never prints a private part', () =>
    inTemporaryDirectory(async (directory) => {
      const { text } = await run(directory, ['generate'])
      const kid = text.replace('made ', '')
      const { d } = await readJwk(directory, kid)
      const rotated = await run(directory, ['rotate'])
      const listed = await run(directory, ['list'])
      expect(text + rotated.text + listed.text).not.to.include(d)
    }))
})
