/** Backup and restore of a running service's response log and keys. */
import { appendFile, cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { HOUR_MS } from '../../base/day.ts'
import { restore } from '../../store/backup/restore.ts'
import { backUp, hasLostLog, readLastBackup } from '../../store/backup/write.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import { encodeEntry } from '../../store/dataset/company-entry.ts'
import { SYNTHETIC } from '../../store/dataset/source.ts'
import { SYNTHETIC_COMPANY } from '../../store/dataset/synthetic.ts'
import { catalogFolder, companyKey } from '../../store/files/layout.ts'
import { HistoryDatabase } from '../../store/history/history-database.ts'
import { eraseNumber, addFile } from '../../store/history/write-journal.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { openLogRanges } from '../support/log-ranges.ts'
import { makeRecord } from '../support/records.ts'
import { findPostgres, makeEmptyLog } from '../support/postgres.ts'
import { contentsOf } from '../support/journal.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { runCommand } from '../support/cli.ts'
import { needProgram } from '../support/programs.ts'

const now = () => new Date('2026-01-02T00:00:00.000Z')

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
/** The meta pages of an environment. */
const INTACT_BYTES = 16_384

const startScript = (script: string, args: string[]) =>
  spawn(process.execPath, ['--input-type=module', '-e', script, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    timeout: 60_000,
  })
const runScript = (script: string, args: string[]) => once(startScript(script, args), 'exit') as Promise<unknown[]>

const sourceOf = (day: string) => ({ ...SYNTHETIC, retrieved_at: `${day}T00:00:00.000Z`, source_updated_at: null })

const retrievalOf = (location: string) => {
  const facts = { snapshot_id: `sha256:${'a'.repeat(64)}`, location, archive_sha256: 'a'.repeat(64) }
  return { ...facts, source: sourceOf('2026-01-01'), newest_update: null, changes: null, validators: null }
}

/** The message of the error, which must be one line. */
async function failureOf(promise: Promise<unknown>, type = 'StoreError'): Promise<string> {
  const { name, message } = await promise.then(
    () => ({ name: 'no error', message: '' }),
    (error: unknown) => error as Error,
  )
  expect(name).to.equal(type)
  expect(message).to.match(/^[^\n]+$/)
  return message
}

describe('a backup', () => {
  let parent: string
  let source: { dataDirectory: string; keysDirectory: string }
  let target: { dataDirectory: string; keysDirectory: string }
  let folder: string

  beforeEach(async () => {
    parent = await makeTemporaryDirectory()
    const directories = (name: string) => ({
      dataDirectory: join(parent, name),
      keysDirectory: join(parent, name, 'keys'),
    })
    source = directories('source')
    target = directories('target')
    folder = join(parent, 'backup')
  })

  async function claimMany(count: number): Promise<string[]> {
    const log = new LmdbResponseLog(source.dataDirectory)
    const identities = Array.from({ length: count }, (_, index) => `payer/${index}`)
    await Promise.all(identities.map((identity) => log.claim(makeRecord({ identity }))))
    await log.close()
    return identities
  }

  it('has the journal, without the content of erased versions', async () => {
    await claimMany(1)
    const history = new HistoryDatabase(source.dataDirectory, { readOnly: false })
    for (const [day, name] of [
      ['2026-01-01', 'ERASED LIMITED'],
      ['2026-01-02', 'KEPT LIMITED'],
    ] as const) {
      const facts = { snapshot_id: day, location: 'test', archive_sha256: '', source: sourceOf(day) }
      const entry = encodeEntry({ ...SYNTHETIC_COMPANY, company_number: '7', legal_name: name })
      addFile(history, facts, [{ key: companyKey('7'), value: entry }])
    }
    eraseNumber(history, companyKey('7'), now().toISOString())
    const contents = contentsOf(history)
    await backUp({ ...source, folder, now })
    const { bytes: all = 0, log_bytes } = readLastBackup(source.dataDirectory) ?? {}
    const { size } = await stat(join(folder, 'history', 'data.mdb'))
    expect(log_bytes).to.be.at.most(all - size)
    await history.close()
    await restore({ ...target, folder })
    const restored = new HistoryDatabase(target.dataDirectory, { readOnly: true })
    expect(contentsOf(restored)).to.deep.equal(contents)
    expect(restored.isErased(companyKey('7'))).to.equal(true)
    await restored.close()
    const bytes = await readFile(join(target.dataDirectory, 'history', 'data.mdb'))
    expect(bytes.includes('KEPT LIMITED')).to.equal(true)
    expect(bytes.includes('ERASED LIMITED')).to.equal(false)
  })

  it('is noted with its time and its size when it is complete, and refused when its folder exists', async () => {
    await claimMany(10)
    expect(readLastBackup(source.dataDirectory)).to.equal(undefined)
    // A killed backup has left it.
    await mkdir(`${folder}.partial`)
    await backUp({ ...source, folder, now })
    expect(existsSync(`${folder}.partial`)).to.equal(false)
    const again = backUp({ ...source, folder, now: () => new Date() })
    expect(await failureOf(again)).to.contain('must be a new folder')
    const { size } = await stat(join(folder, 'responses', 'data.mdb'))
    const noted = { created_at: now().toISOString(), bytes: size, log_bytes: size }
    expect(readLastBackup(source.dataDirectory)).to.deep.equal(noted)

    // As on a full or read-only disk.
    await rm(join(source.dataDirectory, 'last-backup.json'))
    await mkdir(join(source.dataDirectory, 'last-backup.json'))
    const others = { ...source, folder: `${folder}-2`, now: () => new Date(), keep: 1 }
    expect(await failureOf(backUp(others))).to.contain(`${others.folder}: is complete, but `)
    expect([existsSync(folder), existsSync(others.folder)]).to.deep.equal([false, true])
  })

  it('keeps and counts a damaged record, and the other records can be read after a restore', async () => {
    await claimMany(3)
    const file = join(source.dataDirectory, 'responses', 'data.mdb')
    const bytes = await readFile(file)
    // LMDB keeps older copies of a page, so the record is in the file several times.
    for (let at = bytes.indexOf('"payer/1"'); at >= 0; at = bytes.indexOf('"payer/1"', at + 1)) bytes.write('X', at + 1)
    await writeFile(file, bytes)
    const environment = { DATA_DIR: source.dataDirectory }
    const made = await runCommand(['backup', folder], { environment })
    expect(made).to.include({ code: 1, text: 'backed up 2 records and 1 damaged ones' })
    expect(await restore({ ...target, folder })).to.include({ records: 2, damaged: 1 })
    const restored = new LmdbResponseLog(target.dataDirectory)
    expect((await restored.read('payer/2'))?.identity).to.equal('payer/2')
    expect(await restored.read('payer/1').catch((error: Error) => error.name)).to.equal('CorruptRecordError')
    await restored.close()
  })

  it('is restored only into a data directory without a log and without keys', async () => {
    await claimMany(1)
    await backUp({ ...source, folder, now })
    expect(await failureOf(restore({ ...source, folder }))).to.contain('move it away')
    await cp(join(source.dataDirectory, 'responses'), target.keysDirectory, { recursive: true })
    expect(await failureOf(restore({ ...target, folder }))).to.contain('move it away')
    await rm(target.keysDirectory, { recursive: true })
    expect((await restore({ ...target, folder })).records).to.equal(1)
  })

  for (const path of ['responses/data.mdb', 'keys/one.jwk.json']) {
    it(`is not restored when ${path} is changed or missing`, async () => {
      await claimMany(1)
      await cp(join(source.dataDirectory, 'responses', 'data.mdb'), join(source.keysDirectory, 'one.jwk.json'))
      await backUp({ ...source, folder, now })
      await appendFile(join(folder, path), ' ')
      expect(await failureOf(restore({ ...target, folder }))).to.contain('missing or damaged')
      await rm(join(folder, path))
      expect(await failureOf(restore({ ...target, folder }))).to.contain('missing or damaged')
      expect(await readdir(parent)).not.to.include('target')
    })
  }

  for (const [path, kind, refusal] of [
    ['.', 'link', 'is a link; a restore follows none'],
    ['responses/data.mdb', 'link', 'is a link; a restore follows none'],
    ['keys', 'link', 'is a link; a restore follows none'],
    ['keys/one.jwk.json', 'pipe', 'is not a regular file'],
  ] as const) {
    it(`is not restored if ${path} is a ${kind}`, async () => {
      await claimMany(1)
      await mkdir(source.keysDirectory, { recursive: true })
      await writeFile(join(source.keysDirectory, 'one.jwk.json'), '{}')
      await backUp({ ...source, folder, now })
      const moved = join(parent, 'moved')
      await rename(join(folder, path), moved)
      if (kind === 'link') await symlink(moved, join(folder, path))
      else await promisify(execFile)('mkfifo', [join(folder, path)])
      expect(await failureOf(restore({ ...target, folder }))).to.contain(refusal)
      expect(await readdir(parent)).not.to.include('target')
    })
  }

  for (const part of ['catalog', 'responses'] as const) {
    it(`is not complete if ${part} has a damaged page`, async () => {
      await claimMany(20)
      await new Catalog(source.dataDirectory).close()
      const file = join(source.dataDirectory, part, 'data.mdb')
      await writeFile(file, (await readFile(file)).fill(0xff, INTACT_BYTES))
      // Refused when it is opened, or LMDB ends the process that reads the page.
      const script = `import { backUp } from './dist/store/backup/write.js'
        const [dataDirectory, folder] = process.argv.slice(1)
        await backUp({ dataDirectory, keysDirectory: dataDirectory, folder, now: () => new Date() })`
      const [status] = await runScript(script, [source.dataDirectory, folder])
      expect(status).not.to.equal(0)
      expect(await readdir(parent)).not.to.include('backup')
    })
  }

  it('has the state of one time of a log that another process writes', async () => {
    const script = `import { LmdbResponseLog } from './dist/store/log/lmdb-responses.js'
      import { makeRecord, storeRecord } from './dist/test/support/records.js'
      const log = new LmdbResponseLog(process.argv[1])
      process.send('open')
      for (let index = 0; process.connected; index += 1) {
        const updated_at = new Date().toISOString()
        await storeRecord(log, makeRecord({ identity: 'i' + index, payment_id: 'p' + index, state: 'confirmed', updated_at }))
        if (index % 10 === 0) await log.prune({ before: new Date(), max: 3 })
      }
      await log.close()`
    const child = startScript(script, [source.dataDirectory])
    await once(child, 'message')
    const names = ['1', '2', '3']
    for (const name of names) {
      await new Promise((resolve) => void setTimeout(resolve, 300))
      await backUp({ ...source, folder: join(parent, name), now })
    }
    child.disconnect()
    await once(child, 'exit')
    for (const name of names) {
      const directories = {
        dataDirectory: join(parent, `to-${name}`),
        keysDirectory: join(parent, `to-${name}`, 'keys'),
      }
      const { records } = await restore({ ...directories, folder: join(parent, name) })
      expect(records).to.be.greaterThan(0)
      await using ranges = openLogRanges(directories.dataDirectory, { readOnly: true })
      const keys = [...ranges.records.keys()].toSorted()
      expect(keys.length).to.equal(records)
      expect(
        Array.from(ranges.identities.keys(), (key) => String(ranges.identities.get(key))).toSorted(),
      ).to.deep.equal(keys)
      expect(
        Array.from(ranges.paymentIds.keys(), (key) => String(ranges.paymentIds.get(key))).toSorted(),
      ).to.deep.equal(keys)
      const listed = [...ranges.finished.keys(), ...ranges.unfinished.keys()]
      expect(listed.map((key) => key.slice(key.indexOf(' ') + 1)).toSorted()).to.deep.equal(keys)
    }
  })

  it('stops when little space is left, and leaves nothing', async () => {
    await claimMany(300)
    const { size } = await stat(join(source.dataDirectory, 'responses', 'data.mdb'))
    const reserve = 256 * 2 ** 20
    const backUpWith = (bytes: number) => backUp({ ...source, folder, now, freeBytes: () => bytes })
    expect(await failureOf(backUpWith(reserve + size - 1), 'DiskSpaceError')).to.contain('free')
    expect(await readdir(parent)).to.deep.equal(['source'])
    await backUpWith(reserve + size)
  })

  describe('of several in a folder', () => {
    let time: number
    beforeEach(async () => {
      time = now().getTime()
      await claimMany(1)
      await mkdir(join(parent, 'backups'))
    })
    const backUpAs = (name: string, keep?: number) => {
      time += HOUR_MS
      const options = { ...source, folder: join(parent, 'backups', name), now: () => new Date(time) }
      return backUp(keep === undefined ? options : { ...options, keep })
    }
    const names = async () => (await readdir(join(parent, 'backups'))).toSorted()

    it('keeps the number of the newest, and removes partial ones and nothing else', async () => {
      for (const name of ['1', '2']) await backUpAs(name)
      await mkdir(join(parent, 'backups', 'notes'))
      // Killed ones have left them.
      await cp(join(parent, 'backups', '1'), join(parent, 'backups', '0.partial'), { recursive: true })
      await backUpAs('3')
      expect(await names()).to.deep.equal(['0.partial', '1', '2', '3', 'notes'])
      await backUpAs('4', 3)
      expect(await names()).to.deep.equal(['2', '3', '4', 'notes'])
    })

    it('keeps the new one if the clock was set back', async () => {
      for (const name of ['1', '2']) await backUpAs(name)
      time -= 7 * HOUR_MS
      await backUpAs('3', 1)
      expect(await names()).to.deep.equal(['2', '3'])
    })

    it('is noted as small until the log has half of its former size again', async () => {
      const sizes = () => readLastBackup(source.dataDirectory) ?? expect.fail('no note')
      const loseLog = () => rm(join(source.dataDirectory, 'responses'), { recursive: true })
      await claimMany(200)
      await backUpAs('1')
      const { log_bytes: full } = sizes()
      await loseLog()
      await claimMany(1)
      for (const name of ['2', '3', '4']) {
        await backUpAs(name)
        expect(sizes()).to.include({ log_bytes_before: full })
        expect(hasLostLog(sizes())).to.equal(true)
      }
      await claimMany(150)
      await backUpAs('5')
      expect(hasLostLog(sizes())).to.equal(false)
      expect(sizes().log_bytes_before).to.be.lessThan(full ?? 0)
    })
  })

  it('has the catalogue, which is restored unless there is one', async () => {
    await claimMany(1)
    const catalog = new Catalog(source.dataDirectory)
    await catalog.publish(retrievalOf('first'))
    await backUp({ ...source, folder, now })
    await catalog.publish(retrievalOf('second'))
    await catalog.close()
    const restoredLocation = async () => {
      await using restored = new Catalog(target.dataDirectory)
      return restored.retrieval()?.location
    }
    await restore({ ...target, folder })
    expect(await restoredLocation()).to.equal('first')
    await rm(target.dataDirectory, { recursive: true })
    await cp(catalogFolder(source.dataDirectory), catalogFolder(target.dataDirectory), { recursive: true })
    await restore({ ...target, folder })
    expect(await restoredLocation()).to.equal('second')
  })

  it('has keys and catalogue if the log is in PostgreSQL, and says that pg_dump copies the log', async function () {
    needProgram(this, 'PostgreSQL', findPostgres())
    const RESPONSE_LOG = await makeEmptyLog()
    const run = (command: string, DATA_DIR: string) =>
      runCommand([command, folder], { environment: { DATA_DIR, RESPONSE_LOG } })
    await mkdir(source.keysDirectory, { recursive: true, mode: 0o700 })
    await writeFile(join(source.keysDirectory, 'one.jwk.json'), '{}', { mode: 0o600 })
    await new Catalog(source.dataDirectory).close()
    const backedUp = await run('backup', source.dataDirectory)
    expect(backedUp.code, backedUp.stderr).to.equal(0)
    expect(backedUp.text).to.contain('pg_dump')
    expect(await failureOf(restore({ ...target, folder }))).to.contain('has no response log')
    expect(await run('restore', target.dataDirectory)).to.include({ code: 0 })
    expect(await readdir(target.keysDirectory)).to.deep.equal(['one.jwk.json'])
    expect(await readdir(target.dataDirectory)).to.include('catalog')
  })
})
