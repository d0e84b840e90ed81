/** The companies that had a name in earlier files: beside every resolution, and never a match (contract 2.19). */
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { prepareBatch } from '../../../agent/answer/prepare-batch.ts'
import { parseOperation } from '../../../agent/operation/operation.ts'
import type { ResolveResponse } from '../../../agent/operation/resolve.ts'
import { RELATED_MAX } from '../../../agent/operation/result.ts'
import type { Company, SnapshotEntry } from '../../../store/dataset/company.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'
import { StoreError } from '../../../store/files/environment.ts'
import { companyKey } from '../../../store/files/layout.ts'
import { HistoryDatabase } from '../../../store/history/history-database.ts'
import { Journal } from '../../../store/history/journal.ts'
import { eraseNumber } from '../../../store/history/write-journal.ts'
import { openTestRegister, type TestRegister } from '../../support/companies.ts'
import { noJournal, recordFiles } from '../../support/journal.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { singleOf } from '../../support/operations.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

/** The names of each number on three days. The register has those of the last day. */
const DAYS: [number: string, ...names: (string | undefined)[]][] = [
  ['1', 'ALPHA OLD LIMITED', 'ALPHA NEW LIMITED', 'ALPHA NEW LIMITED'],
  ['2', 'BETA LIMITED', 'BETA LIMITED', undefined],
  ['3', 'GAMMA LIMITED', 'GAMMA OTHER LIMITED', 'GAMMA LIMITED'],
  ['4', 'DELTA LIMITED', 'DELTA DAC', 'DELTA DAC'],
  ['5', 'EPSILON LIMITED', 'EPSILON LIMITED', 'quarantined'],
  ['6', 'ZETA ONE LIMITED', 'ZETA TWO LIMITED', 'ZETA THREE LIMITED'],
  ['7', undefined, undefined, 'ALPHA OLD LIMITED'],
  [SYNTHETIC_COMPANY.company_number, 'THETA LIMITED', 'IOTA LIMITED', 'IOTA LIMITED'],
  ...Array.from({ length: RELATED_MAX + 1 }, (_, at): [string, ...string[]] => [
    String(20 + at),
    'KAPPA LIMITED',
    `KAPPA ${at} LIMITED`,
    `KAPPA ${at} LIMITED`,
  ]),
]

const company = (company_number: string, legal_name: string): Company => ({
  ...SYNTHETIC_COMPANY,
  company_number,
  legal_name,
})

const entriesOf = (day: number): Record<string, SnapshotEntry> =>
  Object.fromEntries(
    DAYS.flatMap(([number, ...names]) => {
      const name = names[day]
      return name === undefined ? [] : [[number, name === 'quarantined' ? name : company(number, name)]]
    }),
  )

const ROWS = Object.entries(entriesOf(2)).flatMap(([number, entry]) =>
  entry === 'quarantined'
    ? [
        { number, name: 'EPSILON LIMITED' },
        { number, name: 'ANOTHER LIMITED' },
      ]
    : [{ number, name: entry.legal_name }],
)

describe('[2.19] the companies that had a name', () => {
  let register: TestRegister
  let directory: string
  let journal: Journal

  beforeEach(async () => {
    register = await openTestRegister(ROWS, { hasSyntheticCompany: true })
    directory = await makeTemporaryDirectory()
    await recordFiles(
      directory,
      ['2026-01-01', '2026-01-02', '2026-01-04'].map((updated, day) => ({ updated, entries: entriesOf(day) })),
    )
    openJournal()
  })
  afterEach(() => Promise.all([register.close(), journal.close()]))

  function openJournal(): void {
    journal = new Journal(directory)
    register.context.journal = () => journal
  }

  const show = ({ past }: Pick<ResolveResponse, 'past'>) =>
    past?.companies.map(({ company_number, relation, until }) => `${company_number} ${relation} ${until}`)
  const ask = (name: string) => show(register.resolve({ name }))

  it('are those with another name now, and those that the register no longer has, with their last day', () => {
    const found = register.resolve({ name: 'Beta Ltd' })
    expect(found).to.include({ status: 'no_match', match: null, next: 'search' })
    expect(found.past).to.deep.equal({
      complete_since: '2026-01-01',
      companies: [{ company_number: '2', legal_name: 'BETA LIMITED', relation: 'removed', until: '2026-01-02' }],
    })
    expect(ask('zeta one')).to.deep.equal(['6 former_name 2026-01-01'])
    expect(ask('Zeta Two Limited')).to.deep.equal(['6 former_name 2026-01-02'])
  })

  it('stand beside a match of another company, and change nothing of it', () => {
    const found = register.resolve({ name: 'Alpha Old Ltd' })
    expect(show(found)).to.deep.equal(['1 former_name 2026-01-01'])
    register.context.journal = noJournal
    expect(found).to.deep.equal({ ...register.resolve({ name: 'Alpha Old Ltd' }), past: found.past })
    expect(found.match?.company.company_number).to.equal('7')
  })

  it('are not those that have the name again, and have the name with its legal form', () => {
    expect(ask('Gamma Ltd')).to.deep.equal([])
    expect(ask('Gamma Other Ltd')).to.deep.equal(['3 former_name 2026-01-02'])
    expect(ask('Delta Ltd')).to.deep.equal(['4 former_name 2026-01-01'])
    expect(ask('Delta')).to.deep.equal([])
    expect(ask('Beta DAC')).to.deep.equal([])
  })

  it('are not those whose number is withheld', () => {
    expect(ask('Epsilon Ltd')).to.deep.equal([])
    expect(ask('Theta Ltd')).to.deep.equal([])
  })

  it(`are at most ${RELATED_MAX}, in the order of their numbers`, () => {
    const numbers = register.resolve({ name: 'Kappa Ltd' }).past?.companies.map((each) => each.company_number)
    expect(numbers).to.deep.equal(['20', '21', '22', '23', '24'])
  })

  it('are none for a number alone, of which the answer has the record', () => {
    expect(show(register.resolve({ company_number: '1' }))).to.deep.equal([])
    const synthetic = register.resolve({ company_number: SYNTHETIC_COMPANY.company_number, name: 'Beta Ltd' })
    expect(show(synthetic)).to.deep.equal([])
  })

  it('have no erased version, whatever is recorded later', async () => {
    await journal.close()
    const history = new HistoryDatabase(directory, { readOnly: false })
    for (const number of ['6', '2']) eraseNumber(history, companyKey(number), '2026-01-05T00:00:00Z')
    await history.close()
    const entries = { ...entriesOf(2), 6: company('6', 'ZETA FOUR LIMITED') }
    await recordFiles(directory, [{ updated: '2026-01-05', entries }])
    openJournal()
    for (const name of ['Zeta One Ltd', 'Zeta Two Ltd', 'Zeta Three Ltd', 'Beta Ltd'])
      expect(ask(name), name).to.deep.equal([])
    expect(ask('Gamma Other Ltd')).to.deep.equal(['3 former_name 2026-01-02'])
  })

  it('are made again after a change of the normaliser, and null until then', async () => {
    await journal.close()
    const history = new HistoryDatabase(directory, { readOnly: false })
    history.clearFormerNames('an older normaliser')
    history.putFormerName(['beta'], { key: companyKey('1'), step: history.stepBefore() ?? '', until: '2026-01-01' })
    await history.close()
    openJournal()
    expect(register.resolve({ name: 'Beta Ltd' })).to.include({ status: 'no_match', past: null })
    await journal.close()
    await recordFiles(directory, [{ updated: '2026-01-05', entries: entriesOf(2) }])
    openJournal()
    expect(ask('Beta Ltd')).to.deep.equal(['2 removed 2026-01-02'])
    expect(ask('Zeta Two Ltd')).to.deep.equal(['6 former_name 2026-01-02'])
    expect(ask('Gamma Ltd')).to.deep.equal([])
  })

  it('are null without a journal that can be read, in a batch too, which is sold', async () => {
    const broken = () => {
      throw new StoreError('The journal is damaged')
    }
    for (const unreadable of [noJournal, () => replaceMethods(journal, { completeSince: broken, pin: broken })]) {
      register.context.journal = unreadable
      expect(register.resolve({ name: 'Alpha New Ltd' })).to.include({ status: 'matched', past: null })
      const item = parseOperation(singleOf('resolve'), { name: 'Alpha New Ltd' })
      const items = item.kind === 'valid' ? [item.operation] : []
      const openPlace = async () => ({ [Symbol.dispose]: () => undefined })
      const options = { openContext: () => register.context, enter: openPlace, letOthersConnect: () => setImmediate() }
      const batch = await prepareBatch(items, options)
      expect(batch.kind === 'prepared' && JSON.parse(batch.body).results[0].body).to.deep.include({ past: null })
    }
  })
})
