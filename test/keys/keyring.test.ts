/** Tests of the signing key, the published keys and the rules of the key directory. */
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openKeyring, type Keyring } from '../../keys/keyring.ts'
import { KEY_LEAD_SECONDS } from '../../keys/lifecycle.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, expectKeyError, filesIn, makeKeyAt, pathOf, putKeyFile, readJwk, START_SECONDS } from './support.ts'

let directory: string

const YEAR_SECONDS = 366 * 24 * 3600

const open = (folder: string, seconds = START_SECONDS, generateIfEmpty = false) =>
  openKeyring({ directory: folder, now: clockAt(seconds), generateIfEmpty })

const kidsOf = (keyring: Keyring) => keyring.publicKeys.map((key) => key.kid)

/** Creates a key that is already retired. */
async function makeRetiredAt(retiredAt: number): Promise<string> {
  const { d: _, ...jwk } = await readJwk(directory, await makeKeyAt(directory, START_SECONDS - 1000))
  await putKeyFile(directory, jwk.kid, JSON.stringify({ ...jwk, retired_at: retiredAt }))
  return jwk.kid
}

describe('the keyring', () => {
  beforeEach(async () => void (directory = await makeTemporaryDirectory()))

  it('creates a key and a directory of mode 0700 on the first start and reads them on the next', async () => {
    const folder = join(directory, 'data', 'keys')
    const first = await open(folder, START_SECONDS, true)
    expect((await stat(folder)).mode & 0o777).to.equal(0o700)
    const second = await open(folder, START_SECONDS + 5, true)
    expect(second.kid).to.equal(first.kid)
    expect(kidsOf(second)).to.deep.equal([first.kid])
    expect(await filesIn(folder)).to.have.length(1)
  })

  it('is refused without a key, and creates nothing, if no key may be generated', async () => {
    const folder = join(directory, 'keys')
    await expectKeyError(open(folder), { path: folder, rule: /no signing key: run .* keys generate/ })
    expect(await filesIn(directory)).to.deep.equal([])
  })

  it('is refused, and creates nothing, if only retired keys exist', async () => {
    await makeRetiredAt(START_SECONDS)
    await expectKeyError(open(directory, START_SECONDS, true), { path: directory, rule: /no signing key/ })
    expect(await filesIn(directory)).to.have.length(1)
  })

  it('signs with the newest key that is old enough, else with the oldest, also if the clock is set back', async () => {
    const kids: string[] = []
    for (let age = 0; age < 4; age += 1) kids.push(await makeKeyAt(directory, START_SECONDS - age))
    const [newest, second, third, oldest] = kids
    const at = async (seconds: number) => kidsOf(await open(directory, seconds))
    expect(await at(START_SECONDS + KEY_LEAD_SECONDS)).to.deep.equal(kids)
    expect(await at(START_SECONDS + KEY_LEAD_SECONDS - 1)).to.deep.equal([second, newest, third, oldest])
    for (const seconds of [START_SECONDS, START_SECONDS - 1_000_000])
      expect(await at(seconds)).to.deep.equal([oldest, newest, second, third])
  })

  it('signs with the first kid in text order if two keys have the same iat', async () => {
    const kids = [await makeKeyAt(directory, START_SECONDS), await makeKeyAt(directory, START_SECONDS)].toSorted()
    const keyring = await open(directory, START_SECONDS + KEY_LEAD_SECONDS)
    expect(kidsOf(keyring)).to.deep.equal(kids)
    expect(keyring.kid).to.equal(kids[0])
  })

  it('[13.2] publishes the current key, then the retired keys, latest first, permanently', async () => {
    const current = await makeKeyAt(directory, START_SECONDS)
    const older = await makeRetiredAt(START_SECONDS - 10)
    const retired = await makeRetiredAt(START_SECONDS)
    const later = await open(directory, START_SECONDS + 50 * YEAR_SECONDS)
    expect(kidsOf(later)).to.deep.equal([current, retired, older])
  })

  it('is refused if any key file, even of a retired key, breaks a rule', async () => {
    await makeKeyAt(directory, START_SECONDS)
    const path = pathOf(directory, await makeRetiredAt(START_SECONDS))
    await chmod(path, 0o644)
    await expectKeyError(open(directory), { path, rule: /mode 0644/ })
    await expectKeyError(open(directory, START_SECONDS, true), { path, rule: /mode 0644/ })
  })

  it('ignores other files', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    await writeFile(join(directory, 'README'), 'notes')
    await writeFile(`${pathOf(directory, 'half')}.1.tmp`, '{')
    expect((await open(directory)).kid).to.equal(kid)
    expect(await filesIn(directory)).to.have.length(3)
  })

  for (const mode of [0o710, 0o701, 0o755, 0o777]) {
    it(`[13.2] is refused in a directory of mode 0${mode.toString(8)}`, async () => {
      await makeKeyAt(directory, START_SECONDS)
      await chmod(directory, mode)
      const rule = new RegExp(`has mode 0${mode.toString(8)}; only its owner may have access: run chmod 700 "`)
      await expectKeyError(open(directory), { path: directory, rule })
    })
  }

  it('is refused if its directory is a file or cannot be created', async () => {
    const file = join(directory, 'file')
    await writeFile(file, '', { mode: 0o600 })
    await expectKeyError(open(file), { path: file, rule: /ENOTDIR/ })
    const below = join(file, 'keys')
    await expectKeyError(open(below, START_SECONDS, true), { path: below, rule: /ENOTDIR/ })
  })

  it('keeps an error on one line if the path has several lines', async () => {
    const folder = join(directory, 'two\nlines')
    await mkdir(folder, { mode: 0o700 })
    await expectKeyError(open(folder), { path: String.raw`two\nlines`, rule: /no signing key/ })
  })
})
