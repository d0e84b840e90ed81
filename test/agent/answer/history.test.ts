/** The operations on earlier files of the register, over a journal of files that change, repeat and come late. */
import { expect } from 'chai'
import { answersOperation } from '../../../buyer/library/purchase-request.ts'
import type { ChangesResponse } from '../../../agent/operation/changes.ts'
import type { HistoryResponse } from '../../../agent/operation/history.ts'
import { prepareAnswer } from '../../../agent/answer/answers.ts'
import type { Company, SnapshotEntry } from '../../../store/dataset/company.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_PROVENANCE } from '../../../store/dataset/synthetic.ts'
import { companyKey } from '../../../store/files/layout.ts'
import { HistoryDatabase } from '../../../store/history/history-database.ts'
import { Journal } from '../../../store/history/journal.ts'
import { eraseNumber } from '../../../store/history/write-journal.ts'
import { noJournal, recordFiles, snapshotIdOf, type PastFile } from '../../support/journal.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { singleOf } from '../../support/operations.ts'
import { parseOperation } from '../../../agent/operation/operation.ts'

type Json = Record<string, unknown>

type Version = HistoryResponse['versions'][number]
type Change = ChangesResponse['changes'][number]

const NOW = '2026-02-01T10:00:00Z'

const company = (company_number: string, legal_name: string, status = 'Normal'): Company => ({
  ...SYNTHETIC_COMPANY,
  company_number,
  legal_name,
  status,
})
const FIRST = company('7', 'FIRST LIMITED')
const SECOND = company('7', 'SECOND LIMITED')
const STAYS = company('10', 'STAYS LIMITED')
const ENDED = company('10', 'STAYS LIMITED', 'Dissolved ')
const LATE = company('8', 'LATE LIMITED')

const file = (updated: string, ...entries: (Company | [string, SnapshotEntry])[]): PastFile => ({
  updated,
  entries: Object.fromEntries(entries.map((each) => (Array.isArray(each) ? each : [each.company_number, each]))),
})

/** Company 7 is renamed, quarantined, removed and added again. 3 January has no file, and 6 January has two. */
const FILES = [
  file('2026-01-02', FIRST, STAYS),
  file('2026-01-04', SECOND, STAYS),
  file('2026-01-05', ['7', 'quarantined'], STAYS),
  file('2026-01-06T08:00:00Z', STAYS, LATE),
  file('2026-01-06T18:00:00Z', SECOND, ENDED, LATE),
  file('2026-01-07', SECOND, ENDED, LATE),
]

async function openHistory(files: readonly PastFile[], { hasSyntheticCompany = true, erase = '', now = NOW } = {}) {
  const directory = await makeTemporaryDirectory()
  await recordFiles(directory, files)
  if (erase !== '') {
    const database = new HistoryDatabase(directory, { readOnly: false })
    eraseNumber(database, companyKey(erase), NOW)
    await database.close()
  }
  let journal: Journal = new Journal(directory)
  const context = {
    dataset: undefined,
    journal: () => journal,
    hasSyntheticCompany,
    now: () => new Date(now),
  }
  function ask(operation: string, input: Json) {
    const parsed = parseOperation(singleOf(operation), input)
    if (parsed.kind === 'invalid') throw new Error(parsed.fault.rule)
    const prepared = prepareAnswer(parsed.operation, context)
    if (prepared.kind === 'refused') return { code: prepared.refusal.code, ...prepared.refusal.provenance }
    const answer = JSON.parse(prepared.body) as Json
    expect(answersOperation(parsed.operation, answer)).to.equal(true)
    expect(prepared.snapshotId).to.equal(answer['snapshot_id'])
    return answer
  }
  return {
    /** A process opens a journal for reading or for writing. */
    async add(later: readonly PastFile[]) {
      await journal.close()
      await recordFiles(directory, later)
      journal = new Journal(directory)
    },
    ask,
    versions: (input: Json) => ask('history', input)['versions'] as Version[],
    changes: (input: Json) => ask('changes', input)['changes'] as Change[],
    close: () => journal.close(),
  }
}

type Opened = Awaited<ReturnType<typeof openHistory>>

describe('the operations on earlier files', () => {
  let history: Opened
  before(async () => {
    history = await openHistory(FILES)
  })
  after(() => history.close())

  describe('history', () => {
    it('[2.16] has each state with the files that had it, oldest first, and the changed fields', () => {
      const seen = history.versions({ company_number: '7' }).map(({ state, first_seen, last_seen, changed }) => ({
        state,
        days: [first_seen.date, last_seen?.date ?? null],
        changed,
      }))
      expect(seen).to.deep.equal([
        { state: 'present', days: ['2026-01-02', '2026-01-02'], changed: [] },
        { state: 'present', days: ['2026-01-04', '2026-01-04'], changed: ['legal_name'] },
        { state: 'quarantined', days: ['2026-01-05', '2026-01-05'], changed: [] },
        { state: 'absent', days: ['2026-01-06', '2026-01-06'], changed: [] },
        { state: 'present', days: ['2026-01-06', null], changed: [] },
      ])
    })

    it('[2.16] has the company of a present version only, and the snapshots of its files', () => {
      const versions = history.versions({ company_number: '7' })
      expect(versions.map((version) => version.company)).to.deep.equal([FIRST, SECOND, null, null, SECOND])
      expect(versions[1]?.first_seen.snapshot_id).to.equal(snapshotIdOf(FILES[1]!))
      expect(versions[4]?.first_seen).to.deep.equal({ snapshot_id: snapshotIdOf(FILES[4]!), date: '2026-01-06' })
    })

    it('[4.8.1] has the newest file as its source, and lists the days without a file', () => {
      const { complete_since, gaps, snapshot_id, source, next_before } = history.ask('history', { company_number: '8' })
      expect({ complete_since, gaps, next_before }).to.deep.equal({
        complete_since: '2026-01-02',
        gaps: [{ from: '2026-01-03', to: '2026-01-03' }],
        next_before: null,
      })
      expect(snapshot_id).to.equal(snapshotIdOf(FILES.at(-1)!))
      expect(source).to.include({ source_updated_at: '2026-01-07T00:00:00.000Z' })
    })

    it('[4.8.1] refuses a number that no file had, which names the newest file', () => {
      expect(history.ask('history', { company_number: '07' })).to.include({
        code: 'company_not_found',
        snapshot_id: snapshotIdOf(FILES.at(-1)!),
      })
    })

    for (const count of [100, 201]) {
      it(`[2.11] has ${count} versions on pages of at most 100, which a later file does not change`, async () => {
        const start = Date.parse('2020-01-01')
        const files = Array.from({ length: count }, (_, at) =>
          file(new Date(start + at * 86_400_000).toISOString(), company('7', `NAME ${at} LIMITED`)),
        )
        const paged = await openHistory(files)
        const read: Version[][] = []
        let before: unknown
        do {
          const answer = paged.ask('history', { company_number: '7', ...(before !== undefined && { before }) })
          read.unshift(answer['versions'] as Version[])
          before = answer['next_before'] ?? undefined
          await paged.add([file('2026-01-02', company('7', 'NEWER LIMITED'))])
        } while (before !== undefined)
        await paged.close()
        const names = read.flat().map(({ company: each }) => each?.legal_name)
        expect(names).to.deep.equal(Array.from({ length: count }, (_, at) => `NAME ${at} LIMITED`))
        expect(read.map(({ length }) => length)).to.deep.equal(
          count > 200 ? [1, 100, 100] : count > 100 ? [1, 100] : [count],
        )
        for (const { changed } of read.flat().slice(1)) expect(changed).to.deep.equal(['legal_name'])
      })
    }
  })

  describe('as_of', () => {
    const asOf = (date: string, company_number = '7') => history.ask('as_of', { company_number, date })

    for (const [date, name, at] of [
      ['2026-01-02', FIRST, 0],
      ['2026-01-03', FIRST, 0],
      ['2026-01-04', SECOND, 1],
      ['2026-01-06', SECOND, 4],
      ['2026-02-01', SECOND, 5],
    ] as const) {
      it(`[4.9.1] has the company in the last file of ${date} or before, with its source`, () => {
        const { company: found, snapshot_id, source } = asOf(date) as { company: Company; source: Json } & Json
        expect(found).to.deep.equal(name)
        expect(snapshot_id).to.equal(snapshotIdOf(FILES[at]!))
        expect(source['source_updated_at']).to.equal(new Date(FILES[at]!.updated).toISOString())
      })
    }

    for (const [date, code, at] of [
      ['2026-01-01', 'date_not_covered', 5],
      ['0001-01-01', 'date_not_covered', 5],
      ['2026-02-02', 'date_not_covered', 5],
      ['9999-12-31', 'date_not_covered', 5],
      ['2026-01-05', 'source_data_conflict', 2],
    ] as const) {
      it(`[4.9.2] refuses ${date} with ${code}`, () => {
        expect(asOf(date)).to.include({ code, snapshot_id: snapshotIdOf(FILES[at]!) })
      })
    }

    it('[4.9.2] refuses a company that the file of the day lacks', () => {
      expect(asOf('2026-01-05', '8')).to.include({ code: 'company_not_found', snapshot_id: snapshotIdOf(FILES[2]!) })
      expect(asOf('2026-01-06', '99')).to.include({ code: 'company_not_found', snapshot_id: snapshotIdOf(FILES[4]!) })
    })
  })

  describe('changes', () => {
    const brief = ({ company_number, date, kind }: Change) => `${date} ${company_number} ${kind}`
    const ALL = [
      '2026-01-04 7 changed',
      '2026-01-05 7 changed',
      '2026-01-06 7 removed',
      '2026-01-06 8 added',
      '2026-01-06 7 added',
      '2026-01-06 10 changed',
    ]

    it('[4.10.4] are in the order of day, file and number, without the companies of the oldest file', () => {
      expect(history.changes({ since: '2020-01-01' }).map(brief)).to.deep.equal(ALL)
    })

    it('[2.12] have the changed fields, and name and status before and after', () => {
      const [renamed, conflict, , added, , ended] = history.changes({ since: '2026-01-02' })
      expect(renamed).to.deep.include({
        changed: ['legal_name'],
        before: { legal_name: 'FIRST LIMITED', status: 'Normal' },
        after: { legal_name: 'SECOND LIMITED', status: 'Normal' },
      })
      expect(conflict).to.deep.include({ changed: [], after: null })
      expect(added).to.deep.include({ changed: [], before: null })
      expect(ended).to.deep.include({ changed: ['status'] })
    })

    for (const [filter, expected] of [
      [{ since: '2026-01-05', until: '2026-01-05' }, ALL.slice(1, 2)],
      [{ since: '2026-01-06' }, ALL.slice(2)],
      [{ until: '2026-01-05' }, ALL.slice(0, 2)],
      [{ until: '9999-12-31' }, ALL],
      [{ kind: 'added' }, [ALL[3], ALL[4]]],
      [{ kind: 'removed' }, [ALL[2]]],
      [{ field: 'legal_name' }, [ALL[0]]],
      [{ field: 'status' }, [ALL[5]]],
      [{ status: 'dissolved' }, [ALL[5]]],
      [{ status: 'NORMAL', until: '2026-01-05' }, [ALL[0]]],
      [{ kind: 'changed', field: 'status', status: 'Normal' }, []],
    ] as const) {
      it(`[4.10.1] are filtered by ${JSON.stringify(filter)}`, () => {
        expect(history.changes({ since: '2026-01-02', ...filter }).map(brief)).to.deep.equal(expected)
      })
    }

    describe('of company numbers', () => {
      const of = (company_numbers: string[], input: Json = {}) =>
        history.ask('changes', { since: '2026-01-02', company_numbers, ...input })
      const listed = (answer: Json) => (answer['changes'] as Change[]).map(brief)

      it('[4.10.3] are those of these numbers, in the same order', () => {
        expect(listed(of(['7']))).to.deep.equal(ALL.filter((each) => each.includes(' 7 ')))
        expect(listed(of(['8', '7', '10']))).to.deep.equal(ALL)
        expect(listed(of(['10', '8'], { kind: 'added' }))).to.deep.equal(ALL.slice(3, 4))
        const onOneDay = of(['7'], { since: '2026-01-05', until: '2026-01-05', limit: 1 })
        expect(listed(onOneDay)).to.deep.equal(ALL.slice(1, 2))
        expect(onOneDay['next_cursor']).to.equal(null)
      })

      it('[4.10.3] have the form of an answer about the register, with the numbers that no file has', () => {
        const { not_in_register, ...answer } = of(['99', '7', '07', '8', '10', '00000000'])
        expect(answer).to.deep.equal(history.ask('changes', { since: '2026-01-02' }))
        expect(not_in_register).to.deep.equal(['07', '99'])
        expect(of(['7'])['not_in_register']).to.deep.equal([])
      })
    })

    it('[4.10.4] refuses a range without a recorded day', () => {
      for (const range of [{ since: '2026-01-08' }, { since: '2020-01-01', until: '2026-01-01' }])
        expect(history.ask('changes', range)).to.include({ code: 'date_not_covered' })
    })

    it('[4.10.2] lists all days of the range without a file as ranges, and the first recorded day', () => {
      const gapsOf = (range: Json) => {
        const { complete_since, gaps } = history.ask('changes', range)
        expect(complete_since).to.equal('2026-01-02')
        return (gaps as { from: string; to: string }[]).map(({ from, to }) => `${from} ${to}`)
      }
      expect(gapsOf({ since: '2025-12-31', until: '2026-01-04' })).to.deep.equal([
        '2025-12-31 2026-01-01',
        '2026-01-03 2026-01-03',
      ])
      expect(gapsOf({ since: '2026-01-04' })).to.deep.equal([])
      expect(gapsOf({ since: '2026-01-04', until: '2027-01-01' })).to.deep.equal(['2026-01-08 2027-01-01'])
      expect(gapsOf({ since: '0001-01-01' })[0]).to.equal('0001-01-01 2026-01-01')
    })

    for (const limit of [1, 4]) {
      it(`[4.10.2] come on pages of ${limit}, each change once, also if a file is added meanwhile`, async () => {
        const paged = await openHistory(FILES)
        const read: string[] = []
        let cursor: unknown
        do {
          const input = { since: '2026-01-02', until: '2026-01-07', limit, ...(cursor !== undefined && { cursor }) }
          const answer = paged.ask('changes', input)
          const page = (answer['changes'] as Change[]).map(brief)
          expect(page.length).to.be.at.most(limit)
          read.push(...page)
          cursor = answer['next_cursor'] ?? undefined
          await paged.add([file('2026-01-20', FIRST)])
        } while (cursor !== undefined)
        await paged.close()
        expect(read).to.deep.equal(ALL)
      })
    }

    it('[4.10.2] examines at most 500 changes for a page, and continues after them', async () => {
      const numbers = Array.from({ length: 1_100 }, (_, at) => company(String(1_000 + at), 'MANY LIMITED'))
      const many = await openHistory([file('2026-01-02', STAYS), file('2026-01-03', STAYS, ...numbers)])
      const pages: number[] = []
      let cursor: unknown
      do {
        const input = { since: '2026-01-02', kind: 'removed', ...(cursor !== undefined && { cursor }) }
        const answer = many.ask('changes', input)
        pages.push((answer['changes'] as Change[]).length)
        cursor = answer['next_cursor'] ?? undefined
      } while (cursor !== undefined)
      await many.close()
      expect(pages).to.deep.equal([0, 0, 0])
    })
  })

  describe('of an erased number', () => {
    let erased: Opened
    before(async () => {
      erased = await openHistory(FILES, { erase: '7' })
    })
    after(() => erased.close())

    it('[2.11] have no content of the past in the history', () => {
      const versions = erased.versions({ company_number: '7' })
      expect(versions.map(({ state, company: each }) => [state, each?.legal_name])).to.deep.equal([
        ['erased', undefined],
        ['present', 'SECOND LIMITED'],
      ])
      expect(versions[1]?.changed).to.deep.equal([])
    })

    it('[4.9.1] have no company on a day of the past', () => {
      const asOf = (date: string) => erased.ask('as_of', { company_number: '7', date })
      expect(asOf('2026-01-04')).to.include({ code: 'company_not_found' })
      expect(asOf('2026-01-07')).to.have.nested.property('company.legal_name', 'SECOND LIMITED')
    })

    it('[4.10.4] have no change from or to an erased version', () => {
      const numbers = erased.changes({ since: '2026-01-02' }).map(({ company_number }) => company_number)
      expect(numbers).to.deep.equal(['8', '10'])
    })
  })

  describe('[1.7] of the synthetic company', () => {
    const number = SYNTHETIC_COMPANY.company_number
    const reused = company(number, 'NOT SYNTHETIC LIMITED')

    it('need no journal on testnet: one version since 2026-01-01', () => {
      const now = () => new Date(NOW)
      const context = { dataset: undefined, journal: noJournal, hasSyntheticCompany: true, now }
      const ask = (operation: string, input: Record<string, unknown>) => {
        const prepared = prepareAnswer({ definition: singleOf(operation), input }, context)
        return prepared.kind === 'refused' ? prepared.refusal.code : (JSON.parse(prepared.body) as Json)
      }
      const answer = ask('history', { company_number: number }) as Json
      const seen = { snapshot_id: SYNTHETIC_PROVENANCE.snapshot_id, date: '2026-01-01' }
      expect(answer['versions']).to.deep.equal([
        { state: 'present', first_seen: seen, last_seen: null, company: SYNTHETIC_COMPANY, changed: [] },
      ])
      expect(answer).to.deep.include({
        complete_since: '2026-01-01',
        gaps: [],
        snapshot_id: SYNTHETIC_PROVENANCE.snapshot_id,
      })
      expect(ask('as_of', { company_number: number, date: '2026-01-01' })).to.have.property('company')
      for (const date of ['2025-12-31', '2026-02-02'])
        expect(ask('as_of', { company_number: number, date })).to.equal('date_not_covered')
    })

    it('[4.10.3] do not show a row of the register with its number, which mainnet does', async () => {
      for (const hasSyntheticCompany of [true, false]) {
        const opened = await openHistory([file('2026-01-02', STAYS), file('2026-01-03', STAYS, reused)], {
          hasSyntheticCompany,
        })
        for (const asked of [{}, { company_numbers: [number] }])
          expect(opened.changes({ since: '2026-01-02', ...asked }).length).to.equal(hasSyntheticCompany ? 0 : 1)
        const [version] = opened.versions({ company_number: number })
        expect(version?.company?.legal_name).to.equal(
          hasSyntheticCompany ? SYNTHETIC_COMPANY.legal_name : reused.legal_name,
        )
        await opened.close()
      }
    })
  })

  it('are refused by the buyer if they are for another company, day or filter', () => {
    const isAbout = (operation: string, input: Json, answer: unknown) => {
      const parsed = parseOperation(singleOf(operation), input)
      return parsed.kind === 'valid' && answersOperation(parsed.operation, answer)
    }
    const versions = history.ask('history', { company_number: '7' })
    expect(isAbout('history', { company_number: '8' }, versions)).to.equal(false)
    expect(isAbout('history', { company_number: '8' }, { ...versions, company_number: '8' })).to.equal(false)
    const found = history.ask('as_of', { company_number: '7', date: '2026-01-04' })
    expect(isAbout('as_of', { company_number: '7', date: '2026-01-05' }, found)).to.equal(true)
    expect(isAbout('as_of', { company_number: '7', date: '2026-01-03' }, found)).to.equal(false)
    expect(isAbout('as_of', { company_number: '8', date: '2026-01-04' }, found)).to.equal(false)
    const all = history.ask('changes', { since: '2026-01-04' })
    expect(isAbout('changes', { since: '2026-01-04', until: '2026-01-06', limit: 6 }, all)).to.equal(true)
    for (const other of [
      { since: '2026-01-05' },
      { since: '2026-01-04', until: '2026-01-05' },
      { since: '2026-01-04', limit: 5 },
      { since: '2026-01-04', kind: 'added' },
      { since: '2026-01-04', field: 'status' },
      { since: '2026-01-04', status: 'Normal' },
    ])
      expect(isAbout('changes', other, all), JSON.stringify(other)).to.equal(false)
    const ofNumbers = history.ask('changes', { since: '2026-01-04', company_numbers: ['7', '99'] })
    expect(isAbout('changes', { since: '2026-01-04', company_numbers: ['99', '7'] }, ofNumbers)).to.equal(true)
    // Without its numbers, with another company, and with another number that no file has.
    for (const other of [{}, { company_numbers: ['8', '99'] }, { company_numbers: ['7'] }])
      expect(isAbout('changes', { since: '2026-01-04', ...other }, ofNumbers)).to.equal(false)
  })

  it('[3.1] refuse with an empty journal', async () => {
    const empty = await openHistory([])
    expect(empty.ask('history', { company_number: '7' })).to.include({ code: 'dataset_unavailable' })
    expect(empty.ask('as_of', { company_number: '7', date: '2026-01-02' })).to.include({ code: 'dataset_unavailable' })
    expect(empty.ask('changes', { since: '2026-01-02' })).to.include({ code: 'dataset_unavailable' })
    await empty.close()
  })
})
