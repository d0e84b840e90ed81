/** The journal against a model in memory that keeps every register whole. */
import { readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { SYNTHETIC, type Source } from '../../../store/dataset/source.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'
import { encodeEntry } from '../../../store/dataset/company-entry.ts'
import type { SnapshotEntry } from '../../../store/dataset/company.ts'
import { HistoryDatabase, type VersionEntry } from '../../../store/history/history-database.ts'
import { Journal } from '../../../store/history/journal.ts'
import { eraseNumber, addFile } from '../../../store/history/write-journal.ts'
import { stepKeyOf } from '../../../store/history/step.ts'
import { StoreError } from '../../../store/files/environment.ts'
import { companyKey, historyFolder } from '../../../store/files/layout.ts'
import { sha256Hex } from '../../../base/canonical.ts'
import { contentsOf } from '../../support/journal.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

/** Longer than the interval in which an open file is not checked again. */
const HEAD_INTERVAL_MS = 20

type Register = Record<string, SnapshotEntry>

interface File {
  source: Source
  register: Register
}

const company = (company_number: string, legal_name: string) => ({ ...SYNTHETIC_COMPANY, company_number, legal_name })

function file(updated: string, register: Register): File {
  const time = new Date(updated).toISOString()
  return { source: { ...SYNTHETIC, retrieved_at: time, source_updated_at: time }, register }
}

function record(history: HistoryDatabase, { source, register }: File) {
  const entries = Object.entries(register)
    .map(([number, entry]) => ({ key: companyKey(number), value: encodeEntry(entry) }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1))
  const snapshot_id = `sha256:${sha256Hex(JSON.stringify(entries))}`
  return addFile(history, { snapshot_id, location: 'test', archive_sha256: 'a'.repeat(64), source }, entries)
}

/** Ten registers in a row. */
const NAMED = company('7', 'FIRST LIMITED')
const RENAMED = company('7', 'SECOND LIMITED')
const OTHER = company('8', 'OTHER LIMITED')
const REUSED = company('8', 'A DIFFERENT COMPANY LIMITED')
const STAYS = company('10', 'STAYS LIMITED')

const TEN: readonly File[] = [
  file('2026-01-01', { 7: NAMED, 8: OTHER, 10: STAYS }),
  file('2026-01-02', { 7: RENAMED, 8: OTHER, 10: STAYS }),
  file('2026-01-03', { 8: OTHER, 10: STAYS }),
  file('2026-01-05', { 7: RENAMED, 8: OTHER, 10: STAYS }),
  file('2026-01-06T08:00:00Z', { 7: 'quarantined', 8: OTHER, 10: STAYS }),
  file('2026-01-06T18:00:00Z', { 7: RENAMED, 10: STAYS }),
  file('2026-01-07', { 7: RENAMED, 10: STAYS }),
  file('2026-01-08', { 7: NAMED, 8: REUSED, 10: STAYS }),
  file('2026-01-09', { 7: NAMED, 8: REUSED, 10: STAYS, 11: STAYS_AS('11') }),
  file('2026-01-10', { 7: NAMED, 10: STAYS, 11: STAYS_AS('11') }),
]

function STAYS_AS(number: string) {
  return company(number, 'ALSO STAYS LIMITED')
}

/** What a number was at each file, as far as the model keeps it. */
function modelVersions(files: readonly File[], number: string): { at: number; entry: VersionEntry }[] {
  const versions: { at: number; entry: VersionEntry }[] = []
  for (const [at, { register }] of files.entries()) {
    const entry = register[number] ?? 'absent'
    const last = versions.at(-1)?.entry ?? 'absent'
    if (JSON.stringify(last) !== JSON.stringify(entry)) versions.push({ at, entry })
  }
  return versions
}

describe('the journal', () => {
  let directory: string
  let history: HistoryDatabase

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    history = new HistoryDatabase(directory, { readOnly: false })
  })

  afterEach(() => history.close())

  const numbers = ['7', '8', '10', '11', '12']

  function expectModel(files: readonly File[]): void {
    const journal = new Journal(directory)
    const steps = files.map((_, at) => [...history.stepKeys()][at] ?? '')
    for (const number of numbers) {
      const expected = modelVersions(files, number)
      const seen = [...journal.versions(number)].toReversed()
      expect(seen.map(({ entry }) => entry)).to.deep.equal(expected.map(({ entry }) => entry))
      expect(seen.map(({ since }) => since.key)).to.deep.equal(expected.map(({ at }) => steps[at]))
      expect(seen.map(({ lastSeen }) => lastSeen?.key ?? null)).to.deep.equal(
        expected.map((_, index) => steps[(expected[index + 1]?.at ?? 0) - 1] ?? null),
      )
      for (const [at, { register }] of files.entries()) {
        const step = journal.stepOn('9999-01-01')
        const found = step && journal.versionAt(number, { ...step, key: steps[at] ?? '' })
        expect(found === undefined || found === 'absent' ? undefined : found).to.deep.equal(register[number])
      }
    }
    void journal.close()
  }

  it('has what each file said', () => {
    for (const each of TEN) record(history, each)
    expectModel(TEN)
  })

  it('refuses each read while its open file was cut, and reads it again when it is whole', async () => {
    for (const each of TEN) record(history, each)
    const journal = new Journal(directory)
    const path = join(historyFolder(directory), 'data.mdb')
    const bytes = await readFile(path)
    const newest = journal.newest()
    await sleep(HEAD_INTERVAL_MS)
    await truncate(path)
    const reads = [() => journal.newest(), () => journal.pin(), () => [...journal.versions('7')]]
    for (const read of reads) expect(read).to.throw(StoreError, /its open file is damaged \(it was cut\)/)
    await writeFile(path, bytes)
    expect(journal.newest()).to.deep.equal(newest)
    await journal.close()
  })

  it('knows the files that it has, and refuses every other one but a newer one with one line', () => {
    const files = TEN.filter((_, at) => at !== 3)
    for (const each of files) record(history, each)
    const contents = contentsOf(history)
    for (const each of files) expect(record(history, each)).to.equal(false)
    const [older, newest] = [TEN[3], { ...files.at(-1)!, register: {} }] as [File, File]
    const before = { ...older, source: file('2025-12-31', {}).source }
    for (const each of [older, newest, before])
      expect(() => record(history, each)).to.throw(
        StoreError,
        /^The journal has a file of 2026-01-10, and only a newer one can be added to it$/,
      )
    expect(contentsOf(history)).to.deep.equal(contents)
    expectModel(files)
  })

  it('begins again if the first file was interrupted', async () => {
    for (const each of TEN) record(history, each)
    const contents = contentsOf(history)
    await history.close()
    history = new HistoryDatabase(await makeTemporaryDirectory(), { readOnly: false })
    const interrupted = stepKeyOf(file('2026-01-04', {}).source)
    history.write(() => {
      for (const number of ['7', '99']) {
        const version = { step: interrupted, before: undefined, entry: encodeEntry(company(number, 'LEFT LIMITED')) }
        history.putVersion(companyKey(number), version)
        history.setLatest(companyKey(number), version)
      }
    })
    for (const each of TEN) record(history, each)
    expect(contentsOf(history)).to.deep.equal(contents)
    expect(history.latestOf(companyKey('99'))).to.equal(undefined)
  })

  it('refuses the first file if another one was recorded meanwhile, and changes nothing', () => {
    const [first, second] = TEN as [File, File]
    const meanwhile = (function* () {
      record(history, second)
      yield { key: companyKey('7'), value: encodeEntry(NAMED) }
    })()
    const facts = { snapshot_id: 'sha256:1', location: 'test', archive_sha256: 'a'.repeat(64), source: first.source }
    expect(() => addFile(history, facts, meanwhile)).to.throw('Another process')
    expectModel([second])
  })

  it('shows a pinned state whatever is recorded meanwhile, until it is closed', async () => {
    const [first, second] = TEN as [File, File]
    record(history, first)
    const pinned = new HistoryDatabase(history, { readOnly: true })
    await new Promise(setImmediate)
    record(history, second)
    const steps = (database: HistoryDatabase) => [...database.stepKeys()]
    expect(steps(history)).to.have.lengthOf(2)
    expect(steps(pinned)).to.deep.equal(steps(history).slice(0, 1))
    expect(pinned.latestOf(companyKey('7'))).to.equal(steps(pinned)[0])
    expect(pinned.findStep(steps(history)[1] ?? '')).to.equal(undefined)
    await pinned.close()
    expect(steps(history)).to.have.lengthOf(2)
  })

  it('erases the past of a number, whenever it is erased', async () => {
    const digests = new Set<string>()
    for (const erasedAt of TEN.keys()) {
      await history.close()
      directory = await makeTemporaryDirectory()
      history = new HistoryDatabase(directory, { readOnly: false })
      for (const [index, each] of TEN.entries()) {
        record(history, each)
        if (index === erasedAt) for (const number of ['7', '8']) eraseNumber(history, companyKey(number), 'now')
      }
      digests.add(JSON.stringify(contentsOf(history)))
    }
    expect([...digests]).to.have.length(1)
    const journal = new Journal(directory)
    expect([...journal.versions('7')].map(({ entry, since }) => [since.date, entry])).to.deep.equal([
      ['2026-01-08', NAMED],
      ['2026-01-01', 'erased'],
    ])
    expect([...journal.versions('8')].map(({ entry, since }) => [since.date, entry])).to.deep.equal([
      ['2026-01-10', 'absent'],
      ['2026-01-01', 'erased'],
    ])
    expect([...journal.versions('10')].map(({ entry }) => entry)).to.deep.equal([STAYS])
    void journal.close()
  })
})
