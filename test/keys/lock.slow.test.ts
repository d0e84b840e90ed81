/** The lock of a key directory, with real processes. */
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { compromiseKeys } from '../../keys/compromise.ts'
import { jwksBody, openKeyring } from '../../keys/keyring.ts'
import { ROTATION_SECONDS_MIN } from '../../keys/lifecycle.ts'
import { changeKeys, LOCK_FOLDER } from '../../keys/lock.ts'
import { rotateKeys } from '../../keys/rotate.ts'
import { ready, startChild, type Child } from '../support/child.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { clockAt, expectKeyError, filesIn, makeKeyAt, START_SECONDS } from './support.ts'

const ROUNDS = 5
/** The time at which the second key is made. */
const SECOND_KEY_SECONDS = START_SECONDS + ROTATION_SECONDS_MIN
/** At this time the first key is superseded, and both commands change it. */
const NOW_SECONDS = SECOND_KEY_SECONDS + ROTATION_SECONDS_MIN

describe('the lock of a key directory', function () {
  this.timeout(240_000)
  let directory: string
  let children: Child[]

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    children = []
  })
  afterEach(async () => {
    for (const child of children) await kill(child)
  })

  function start(program: string, ...args: string[]): Child {
    const child = startChild(`test/programs/${program}.js`, args, {})
    children.push(child)
    return child
  }

  async function kill(child: Child): Promise<void> {
    child.process.kill('SIGKILL')
    await child.ended
  }

  const startChange = (...kids: string[]) => start('change-keys', directory, String(clockAt(NOW_SECONDS)()), ...kids)

  async function startHolder(): Promise<Child> {
    const holder = start('hold-lock', join(directory, LOCK_FOLDER))
    expect(await ready(holder)).to.equal('acquired')
    return holder
  }

  /** Runs all at once. Returns for each the id of the key that it made, or the exit status of its failure. */
  async function runAtOnce(...changes: Child[]): Promise<(string | number)[]> {
    await Promise.all(changes.map(ready))
    for (const change of changes) change.process.kill('SIGUSR2')
    return Promise.all(changes.map(async ({ ended, said }) => (await ended) || (said.get('made') ?? '')))
  }

  it('[13.2] lets only one of several simultaneous rotations create a key', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await makeKeyAt(directory, START_SECONDS)
      const made = await runAtOnce(startChange(), startChange(), startChange())
      expect(made.filter((each) => each === 1)).to.have.length(2)
      expect(await filesIn(directory)).to.have.length(2)
      await rm(directory, { recursive: true })
      directory = await makeTemporaryDirectory()
    }
  })

  it('[13.4] keeps the mark of a compromised key that a rotation retires at the same time', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const stolen = await makeKeyAt(directory, START_SECONDS)
      await makeKeyAt(directory, SECOND_KEY_SECONDS)
      const made = await runAtOnce(startChange(), startChange(stolen))
      expect(made[0]).to.match(/^[\w-]{43}$/)
      expect(made[1]).to.equal('none')
      const keyring = await openKeyring({ directory, now: clockAt(NOW_SECONDS), generateIfEmpty: false })
      expect(jwksBody(keyring).compromised.map(({ kid }) => kid)).to.deep.equal([stolen])
      await rm(directory, { recursive: true })
      directory = await makeTemporaryDirectory()
    }
  })

  it('[13.2] makes another command wait, which changes nothing if it waits too long', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const holder = await startHolder()
    const waits: number[] = []
    const change = changeKeys(
      directory,
      () => expect.fail('changed'),
      async (milliseconds) => void waits.push(milliseconds),
    )
    await expectKeyError(change, { path: directory, rule: /is being changed by another process: try again/ })
    expect(waits).to.have.length(199)
    expect(await filesIn(directory)).to.deep.equal([`${kid}.jwk.json`])
    const waiting = changeKeys(
      directory,
      async ({ signing }) => signing.length,
      () => kill(holder),
    )
    expect(await waiting).to.equal(1)
  })

  it('names the fault of a lock that cannot be taken, and is free after its folder is deleted', async () => {
    const kid = await makeKeyAt(directory, START_SECONDS)
    const folder = join(directory, LOCK_FOLDER)
    await mkdir(folder)
    await writeFile(join(folder, 'data.mdb'), 'damaged'.repeat(1_000))
    const change = () => changeKeys(directory, async ({ signing }) => signing.map(({ publicJwk }) => publicJwk.kid))
    await expectKeyError(change(), {
      path: directory,
      rule: /cannot be locked: .*lock: .*the file is not an LMDB file/,
    })
    await rm(folder, { recursive: true })
    expect(await change()).to.deep.equal([kid])
  })

  it('is not needed to read keys, so a service starts while it is taken', async () => {
    await makeKeyAt(directory, START_SECONDS)
    await startHolder()
    const open = () => openKeyring({ directory, now: clockAt(START_SECONDS), generateIfEmpty: true })
    expect((await open()).publicKeys).to.have.length(1)
  })

  it('creates nothing in a directory that breaks a rule or is missing', async () => {
    await chmod(directory, 0o755)
    const options = { directory, now: clockAt(START_SECONDS) }
    await expectKeyError(rotateKeys(options), { path: directory, rule: /has mode 0755/ })
    await chmod(directory, 0o700)
    const missing = join(directory, 'missing')
    await expectKeyError(rotateKeys({ ...options, directory: missing }), { path: missing, rule: /no key to replace/ })
    await expectKeyError(compromiseKeys({ ...options, directory: missing, kids: ['a'] }), {
      path: missing,
      rule: /has no key/,
    })
    expect(await filesIn(directory)).to.deep.equal([])
  })
})
