/** Incremental backups of the response log: each is restored to exactly the log of its time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { restore } from '../../store/backup/restore.ts'
import { backUp, readLastBackup } from '../../store/backup/write.ts'
import { DAY_MS } from '../../store/base/day.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { isFinal, isPaid, TRANSITIONS, type RecordState, type ResponseRecord } from '../../store/log/record.ts'
import { runCommand } from '../support/cli.ts'
import { damage, openLogRanges } from '../support/log-ranges.ts'
import { below, happens, pick, randomFor, type Random } from '../support/random.ts'
import { makeRecord } from '../support/records.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { failureOf } from '../support/failure.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const START = Date.parse('2026-01-01T00:00:00.000Z')
const HOUR_MS = 3_600_000

/** Everything in the log but what a restore may change, as text. */
async function dump(dataDirectory: string): Promise<Record<string, unknown>> {
  await using ranges = openLogRanges(dataDirectory, { readOnly: true })
  const lists = (
    ['identities', 'records', 'progress', 'unfinished', 'finished', 'paymentIds', 'unrecorded', 'notes'] as const
  ).map((name) => [
    name,
    Array.from(ranges[name].keys(), (key) => [key, ranges[name].getBinary(key)?.toString('latin1')]),
  ])
  const values = ['layout', 'owner', 'public-keys', 'sales'].map((key) => [key, ranges.environment.get(key)])
  return Object.fromEntries([...lists, ...values])
}

describe('an incremental backup', () => {
  let parent: string
  let time: number
  let source: { dataDirectory: string; keysDirectory: string }
  let log: LmdbResponseLog

  const now = () => new Date(time)
  const iso = () => now().toISOString()
  const folderOf = (name: string) => join(parent, 'backups', name)
  const directoriesOf = (name: string) => ({
    dataDirectory: join(parent, name),
    keysDirectory: join(parent, name, 'keys'),
  })

  beforeEach(async () => {
    parent = await makeTemporaryDirectory()
    await mkdir(join(parent, 'backups'))
    time = START
    source = directoriesOf('source')
    log = new LmdbResponseLog(source.dataDirectory, { now })
  })
  afterEach(() => log.close())

  /** An hour later, as the timer does. */
  const increment = (name: string, options: Partial<Parameters<typeof backUp>[0]> = {}) => {
    time += HOUR_MS
    return backUp({ ...source, folder: folderOf(name), now, incremental: true, ...options })
  }
  const restoreTo = (target: string, name: string) => restore({ ...directoriesOf(target), folder: folderOf(name) })
  const expectRestored = async (name: string, expected: Record<string, unknown>) => {
    await restoreTo(`to-${name}`, name)
    const found = await dump(directoriesOf(`to-${name}`).dataDirectory)
    for (const [what, value] of Object.entries(expected)) expect(found[what], `${what} of ${name}`).to.deep.equal(value)
  }

  const end = async (identity: string, states: readonly RecordState[], change = {}) => {
    time += 1
    await log.claim(makeRecord({ identity, prepared_at: iso(), updated_at: iso(), ...change }))
    for (const state of states) {
      const record = await log.read(identity)
      if (record) await log.advance(record, { state, updated_at: iso() })
    }
  }
  const sell = (identity: string, change = {}) => end(identity, ['settled', 'confirmed'], change)
  const sellMany = async (prefix: string, count: number) => {
    for (let index = 0; index < count; index += 1) await sell(`${prefix}/${index}`)
  }

  /** One thing that a service does to its log. */
  async function doSomething(random: Random, identities: string[]): Promise<void> {
    time += below(random, 60_000)
    const record = identities.length > 0 ? await log.read(pick(random, identities)) : undefined
    const roll = random()
    if (roll < 0.35 || !record) {
      const identity = `payer/${below(random, 400)}`
      // The payment ids are few, so that they are freed and taken again.
      const id = happens(random, 0.6) ? { payment_id: `payer id ${below(random, 12)}` } : {}
      const body = 'x'.repeat(below(random, 3_000))
      const claim = await log.claim(makeRecord({ identity, body, prepared_at: iso(), updated_at: iso(), ...id }))
      if (claim.kind === 'claimed') identities.push(identity)
    } else if (roll < 0.85) await step(random, record)
    else if (roll < 0.9) await log.prune({ before: new Date(time - below(random, HOUR_MS)), max: 1 + below(random, 5) })
    else if (roll < 0.93)
      await log.announceKey({
        kid: `${below(random, 9)}`,
        jwk: {},
        compromised_at: happens(random, 0.3) ? iso() : null,
      })
    else if (roll < 0.95) await log.setNote(`note ${below(random, 9)}`, happens(random, 0.5) ? iso() : undefined)
    else if (roll < 0.97)
      await log.noteUnrecorded({ identity: `lost/${below(random, 30)}`, transaction: '0x', found_at: iso() })
    else {
      const owner = { log_id: `${roll}`, network: 'n', asset: 'a' }
      await log.setOwner(
        { ...owner, pay_to: String(record.requirements['payTo']).toLowerCase(), receivers: [] },
        await log.owner(),
      )
    }
  }

  async function step(random: Random, record: ResponseRecord): Promise<void> {
    const { state, receipt } = record
    const next: readonly RecordState[] = TRANSITIONS[state]
    if (isPaid(state) && receipt === undefined && happens(random, 0.5))
      await log.advance(record, { state, receipt: `receipt ${time}`, updated_at: record.updated_at })
    else if (!isFinal(state) && happens(random, 0.2))
      await log.advance(record, { state, due_at: iso(), updated_at: iso() })
    else if (next.length > 0) await log.advance(record, { state: pick(random, next), updated_at: iso() })
  }

  for (const seed of [1, 2, 3]) {
    it(`is restored to the log of its time, whatever happened before (seed ${seed})`, async () => {
      const random = randomFor(seed, 0, 0)
      const identities: string[] = []
      const states: Awaited<ReturnType<typeof dump>>[] = []
      const kinds: (string | undefined)[] = []
      for (let part = 0; part < 6; part += 1) {
        const count = below(random, 100)
        for (let index = 0; index < count; index += 1) await doSomething(random, identities)
        states.push(await dump(source.dataDirectory))
        kinds.push((await increment(`part-${part}`)).parent)
      }
      expect(kinds).to.deep.equal([undefined, ...states.slice(1).map((_, part) => `part-${part}`)])
      for (const [part, state] of states.entries()) await expectRestored(`part-${part}`, state)
    })
  }

  it('has the changed final records, and is much smaller than the log', async () => {
    await sellMany('first', 200)
    await increment('full')
    await sell('second')
    const receipt = { state: 'confirmed', receipt: 'a.b.c', updated_at: iso() } as const
    await log.advance((await log.read('first/7'))!, receipt)
    expect(await increment('part')).to.deep.include({ records: 2, damaged: 0, parent: 'full', fullReason: undefined })
    const sizes = await Promise.all(
      ['full', 'part'].map(async (name) => (await stat(join(folderOf(name), 'responses', 'data.mdb'))).size),
    )
    expect(sizes[1]).to.be.lessThan((sizes[0] ?? 0) / 3)
    expect(readLastBackup(source.dataDirectory)).to.deep.equal({
      created_at: iso(),
      bytes: sizes[1],
      log_bytes: sizes[0],
    })
    expect(await restoreTo('target', 'part')).to.include({ records: 201, damaged: 0 })
  })

  it('copies a catalogue only if it has changed, and a restore finds it in an ancestor', async () => {
    const catalog = new Catalog(source.dataDirectory)
    await catalog.setCrashed('a'.repeat(64), true)
    for (const name of ['1', '2', '3']) await increment(name)
    await catalog.setCrashed('b'.repeat(64), true)
    await catalog.close()
    await increment('4')
    const have = ['1', '2', '3', '4'].filter((name) => existsSync(join(folderOf(name), 'catalog')))
    expect(have).to.deep.equal(['1', '4'])
    for (const [name, digits] of [
      ['3', ['a']],
      ['4', ['a', 'b']],
    ] as const) {
      await restoreTo(`to-${name}`, name)
      const restored = new Catalog(directoriesOf(`to-${name}`).dataDirectory)
      expect(['a', 'b'].filter((digit) => restored.hasCrashed(digit.repeat(64)))).to.deep.equal(digits)
      await restored.close()
    }
  })

  const NO_PARENT = '3: the backup that it builds on is not beside it or has changed'
  for (const [what, change, named] of [
    ['is missing', () => rm(folderOf('2'), { recursive: true }), NO_PARENT],
    ['is another one', () => cp(folderOf('1'), folderOf('2'), { recursive: true }), NO_PARENT],
    ['has a changed manifest', () => appendFile(join(folderOf('2'), 'backup.json'), ' '), NO_PARENT],
    [
      'has a changed log',
      () => appendFile(join(folderOf('1'), 'responses/data.mdb'), ' '),
      '1/responses/data.mdb: is missing',
    ],
  ] as const) {
    it(`is not restored if a part ${what}, and the line names it`, async () => {
      for (const name of ['1', '2', '3']) {
        await sell(name)
        await increment(name)
      }
      await change()
      expect(await failureOf(restoreTo('target', '3')))
        .to.match(/^StoreError: [^\n]+$/)
        .and.contain(named)
      expect(existsSync(directoriesOf('target').dataDirectory)).to.equal(false)
    })
  }

  it('is restored from folders with other names and with copies beside them', async () => {
    for (const name of ['1', '2', '3']) {
      await sell(name)
      await increment(name)
    }
    await rename(folderOf('1'), folderOf('one'))
    await cp(folderOf('2'), folderOf('copy'), { recursive: true })
    await increment('4', { keep: 1 })
    expect((await readdir(join(parent, 'backups'))).toSorted()).to.deep.equal(['2', '3', '4', 'copy', 'one'])
    await expectRestored('4', await dump(source.dataDirectory))
  })

  const NOT_KNOWN = 'the changes of this log since the last one are not known'
  const REASONS: [reason: string, what: string, cause: () => Promise<unknown>][] = [
    ['there is no earlier one', 'the first one', () => rm(folderOf('full'), { recursive: true })],
    ['the last full one is a week old', 'a week after the last full one', async () => void (time += 7 * DAY_MS)],
    ['there is no earlier one', 'one before the first one', async () => void (time -= 2 * HOUR_MS)],
    [
      NOT_KNOWN,
      'that of a restored log',
      async () => {
        await restoreTo('other', 'full')
        source = directoriesOf('other')
        await log.close()
        log = new LmdbResponseLog(source.dataDirectory, { now })
      },
    ],
    [
      NOT_KNOWN,
      'one after a manifest of version 1',
      async () => {
        const path = join(folderOf('full'), 'backup.json')
        const { log: _log, ...manifest } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
        await writeFile(path, JSON.stringify({ ...manifest, version: 1 }))
        expect(await restoreTo('former', 'full')).to.include({ records: 2, damaged: 0 })
      },
    ],
    [
      NOT_KNOWN,
      'one whose changes have expired',
      async () => {
        await sellMany('new', 3)
        time += 9 * DAY_MS
        await sellMany('newer', 60)
        time -= 9 * DAY_MS
      },
    ],
    [
      NOT_KNOWN,
      'one whose changes in the middle have expired, because the clock was wrong for a while',
      async () => {
        await sell('third')
        await increment('middle')
        const right = time
        time = 0
        await sell('new')
        time = right
        await sellMany('newer', 60)
      },
    ],
    [
      NOT_KNOWN,
      'that of a log that was set back to an earlier copy',
      async () => {
        const copy = join(parent, 'copy')
        await log.close()
        await cp(source.dataDirectory, copy, { recursive: true })
        log = new LmdbResponseLog(source.dataDirectory, { now })
        await sell('lost')
        await increment('later')
        await log.close()
        await rm(source.dataDirectory, { recursive: true })
        await cp(copy, source.dataDirectory, { recursive: true })
        log = new LmdbResponseLog(source.dataDirectory, { now })
        await sell('new')
      },
    ],
    [
      'the last one has lost a folder that it builds on',
      'one whose ancestor is missing',
      async () => {
        await increment('later')
        await rm(folderOf('full'), { recursive: true })
      },
    ],
  ]

  for (const [reason, what, cause] of REASONS) {
    it(`is a full one instead, and says why: ${what}`, async () => {
      await sellMany('first', 2)
      await increment('full')
      await cause()
      const state = await dump(source.dataDirectory)
      const made = await increment('next')
      expect(made.parent).to.equal(undefined)
      expect(made.fullReason).to.equal(reason)
      expect((await increment('after')).parent).to.equal('next')
      await rename(folderOf('next'), folderOf('moved'))
      await expectRestored('moved', state)
    })
  }

  it('keeps damaged records as they are, and the others can be read after a restore', async () => {
    await sellMany('first', 3)
    await increment('1')
    await sell('second/1', { payment_id: 'payer 1' })
    await end('second/2', ['unknown'])
    const { paymentIds } = await dump(source.dataDirectory)
    await using ranges = openLogRanges(source.dataDirectory)
    damage(ranges, 'second/1', (bytes) => bytes.fill('x', bytes.length - 20))
    damage(ranges, 'second/2', (bytes) => bytes.fill('x', bytes.length - 20), 'progress')
    expect(await increment('2')).to.include({ records: 0, damaged: 2, parent: '1' })
    expect(await restoreTo('target', '2')).to.include({ records: 3, damaged: 2 })
    expect((await dump(directoriesOf('target').dataDirectory))['paymentIds']).to.deep.equal(paymentIds)
    const restored = new LmdbResponseLog(directoriesOf('target').dataDirectory, { now })
    expect(await failureOf(restored.read('second/1'))).to.contain('CorruptRecordError')
    expect(await restored.unfinished()).to.deep.equal(['second/2'])
    await restored.close()
  })

  it('stops when little space is left, leaves nothing, and needs no space for the whole log', async () => {
    await sellMany('first', 300)
    await increment('1')
    const { size } = await stat(join(folderOf('1'), 'responses', 'data.mdb'))
    const reserve = 256 * 2 ** 20
    const freeBytes = () => reserve + size / 2
    await increment('2', { freeBytes })
    expect(await failureOf(increment('3', { freeBytes, incremental: false }))).to.contain('DiskSpaceError')
    await sellMany('second', 450)
    let calls = 0
    const sinking = () => reserve + 1_000_000 - 400_000 * ++calls
    expect(await failureOf(increment('3', { freeBytes: sinking }))).to.contain('DiskSpaceError')
    expect(calls).to.be.greaterThan(1)
    expect((await readdir(join(parent, 'backups'))).toSorted()).to.deep.equal(['1', '2'])
  })

  it('keeps the number of backups and all that they build on, and removes nothing else beside it', async () => {
    for (const name of ['1', '2', '3']) await increment(name)
    await mkdir(join(parent, 'backups', 'notes'))
    time += 7 * DAY_MS
    for (const name of ['4', '5']) await increment(name, { keep: 3 })
    expect((await readdir(join(parent, 'backups'))).toSorted()).to.deep.equal(['1', '2', '3', '4', '5', 'notes'])
    await increment('6', { keep: 3 })
    expect((await readdir(join(parent, 'backups'))).toSorted()).to.deep.equal(['4', '5', '6', 'notes'])
    await restoreTo('target', '6')
  })

  it('is kept and built on an older one if the clock was ahead for a while', async () => {
    await sellMany('first', 2)
    await increment('1')
    time += 4 * DAY_MS
    await sell('ahead')
    for (const name of ['2', '3']) await increment(name)
    time = START + 2 * HOUR_MS
    expect((await increment('4', { keep: 2 })).parent).to.equal('1')
    await sell('right')
    expect((await increment('5', { keep: 2 })).parent).to.equal('4')
    expect((await readdir(join(parent, 'backups'))).toSorted()).to.deep.equal(['1', '2', '3', '4', '5'])
    await expectRestored('5', await dump(source.dataDirectory))
  })

  it('that was killed leaves a partial folder, which the next one removes', async () => {
    await sellMany('first', 3)
    await increment('1')
    await Promise.all(Array.from({ length: 300 }, (_, index) => log.claim(makeRecord({ identity: `open/${index}` }))))
    // Dies before its second transaction.
    const script = `import { backUp } from './dist/store/backup/write.js'
      const [dataDirectory, folder] = process.argv.slice(1)
      let calls = 0
      const freeBytes = () => (++calls === 3 ? process.kill(process.pid, 'SIGKILL') : Infinity)
      const now = () => new Date(${time + 1})
      await backUp({ dataDirectory, keysDirectory: dataDirectory, folder, now, incremental: true, freeBytes })`
    const args = ['--input-type=module', '-e', script, source.dataDirectory, folderOf('2')]
    const [, signal] = (await once(spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }), 'exit')) as unknown[]
    expect(signal).to.equal('SIGKILL')
    expect(existsSync(join(folderOf('2.partial'), 'responses', 'data.mdb'))).to.equal(true)
    // As if it had died later.
    await cp(join(folderOf('1'), 'backup.json'), join(folderOf('2.partial'), 'backup.json'))
    expect((await increment('3')).parent).to.equal('1')
    await increment('4', { keep: 9 })
    expect((await readdir(join(parent, 'backups'))).toSorted()).to.deep.equal(['1', '3', '4'])
    await expectRestored('4', await dump(source.dataDirectory))
  })

  it('is restored after an interrupted restore', async () => {
    await sellMany('first', 3)
    await increment('1')
    await sellMany('second', 3)
    await increment('2')
    const { dataDirectory } = directoriesOf('to-2')
    for (const name of ['responses.restoring', 'responses.restoring.increment']) {
      await mkdir(join(dataDirectory, name), { recursive: true })
      await writeFile(join(dataDirectory, name, 'data.mdb'), 'of a killed restore')
    }
    await expectRestored('2', await dump(source.dataDirectory))
    expect((await readdir(dataDirectory)).toSorted()).to.deep.equal(['keys', 'responses'])
  })

  it('has one state of a log that another process writes', async () => {
    const writer = `import { LmdbResponseLog } from './dist/store/log/lmdb-responses.js'
      import { makeRecord, storeRecord } from './dist/test/support/records.js'
      const log = new LmdbResponseLog(process.argv[1])
      process.send('open')
      for (let index = 0; process.connected; index += 1) {
        const updated_at = new Date().toISOString()
        await storeRecord(log, makeRecord({ identity: 'i' + index, payment_id: 'p' + index, state: 'confirmed', updated_at }))
        if (index % 10 === 0) await log.prune({ before: new Date(), max: 3 })
      }
      await log.close()`
    const child = spawn(process.execPath, ['--input-type=module', '-e', writer, source.dataDirectory], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      timeout: 60_000,
    })
    await once(child, 'message')
    const names = ['1', '2', '3', '4', '5']
    const made = []
    for (const name of names) {
      made.push(await increment(name, { now: () => new Date() }))
      await new Promise((resolve) => void setTimeout(resolve, 300))
    }
    child.disconnect()
    await once(child, 'exit')
    expect(made.map((each) => each.fullReason?.slice(0, 8))).to.deep.equal([
      'there is',
      ...names.slice(1).map(() => undefined),
    ])
    for (const name of names) {
      await restoreTo(`to-${name}`, name)
      const found = await dump(directoriesOf(`to-${name}`).dataDirectory)
      const listed = (database: string) => (found[database] as string[][]).map(([key = '']) => key)
      const records = listed('records')
      if (name !== '1') expect(records.length).to.be.greaterThan(0)
      const final = [...listed('finished'), ...listed('unfinished')].map((key) => key.slice(key.indexOf(' ') + 1))
      expect(final.toSorted()).to.deep.equal(records.toSorted())
      for (const index of ['identities', 'paymentIds'])
        expect(
          (found[index] as string[][]).map(([, key]) => JSON.parse(String(key)) as string).toSorted(),
        ).to.deep.equal(records.toSorted())
    }
  })

  it('is made by the command, which says what it copied and why', async () => {
    await sellMany('first', 3)
    const environment = { DATA_DIR: source.dataDirectory }
    const run = (name: string) =>
      runCommand(['backup', '--incremental', '--keep', '24', folderOf(name)], { environment, now })
    expect(await run('1')).to.include({ code: 0, text: 'a full backup: there is no earlier one\nbacked up 3 records' })
    time += HOUR_MS
    await sell('second')
    expect(await run('2')).to.include({ code: 0, text: 'backed up 1 records that are open or have changed since 1' })
    const target = { DATA_DIR: directoriesOf('target').dataDirectory }
    const { code, text } = await runCommand(['restore', folderOf('2')], { environment: target })
    expect([code, text]).to.deep.equal([0, `restored 4 records of ${iso()}`])
  })
})
