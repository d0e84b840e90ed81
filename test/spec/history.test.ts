/**
 * The operations on earlier files of the register over all transports: purchase, replay, receipt, and refusals without
 * a charge.
 */
import { rm, writeFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { HOUR_MS } from '../../base/day.ts'
import { answersOperation } from '../../buyer/library/purchase-request.ts'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import { companyKey, historyFolder } from '../../store/files/layout.ts'
import { HistoryDatabase } from '../../store/history/history-database.ts'
import { REGISTER } from '../support/fixtures.ts'
import { recordArchive } from '../support/journal.ts'
import { expectRefusal } from '../support/raw-http.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { buyOverTransports, COMPANY, expectCharges, messageOf, quoteOf, type Operation } from '../support/transports.ts'
import { operationOf } from '../support/operations.ts'
import { useService } from '../support/use-service.ts'

const PRICE = 1000n

/** A file of 5 January with a former name of 73848 and the company 1999, without 1002. */
async function recordFormer(service: TestService): Promise<void> {
  const path = join(await makeTemporaryDirectory(), 'former.csv')
  const lines = (await readFile(REGISTER, 'utf8')).replace('PLAIN FIXTURE LIMITED', 'FORMER NAME LIMITED').split('\n')
  const removed = lines.filter((line) => line.startsWith('1002,')).map((line) => line.replace('1002,', '1999,'))
  const others = lines.filter((line) => !line.startsWith('1002,') && line !== '')
  await writeFile(path, [...others, ...removed].join('\n'))
  await recordArchive(service.directory, path, '2026-01-05T08:00:00.000Z')
}

const OPERATIONS: [Operation, path: string][] = [
  [{ operation: 'history', input: { company_number: '73848' } }, `${COMPANY}/73848/history`],
  [{ operation: 'as_of', input: { company_number: '73848', date: '2026-01-06' } }, `${COMPANY}/73848/as-of/2026-01-06`],
  [{ operation: 'changes', input: { since: '2026-01-01', limit: 5 } }, '/api/v1/changes?since=2026-01-01&limit=5'],
  [
    { operation: 'changes', input: { since: '2026-01-01', limit: 100, company_numbers: ['1002', '73848', '999999'] } },
    '/api/v1/changes?since=2026-01-01&limit=100&company_numbers=1002%2C73848%2C999999',
  ],
]

describe('the operations on earlier files', () => {
  let now = () => new Date()
  const { service, get, rest, a2a, mcp, payFor, buy } = useService(() => startTestService({ now: () => now() }))

  before(async () => {
    await service.restart({ whileStopped: () => recordFormer(service) })
  })

  for (const [operation, path] of OPERATIONS)
    it(`sell ${operation.operation} over A2A, and replay the answer over REST and MCP`, () =>
      expectCharges(service, [PRICE], async () => {
        const unpaid = await a2a(operation)
        expect(quoteOf(unpaid)).to.deep.equal({ url: `${service.url}${path}`, amount: String(PRICE) })
        const payment = await payFor(Promise.resolve(unpaid))
        const answer = messageOf(await a2a(operation, payment)).data
        expect(answersOperation(operationOf(operation), answer)).to.equal(true)
        for (const ask of [rest, mcp]) expect((await ask(operation, payment)).json).to.deep.equal(answer)
      }))

  it('answer from the file of each day', async () => {
    const [history, asOf, changes] = await Promise.all(
      OPERATIONS.map(async ([operation]) => (await buy((payment) => rest(operation, payment))).json),
    )
    const { versions } = history as { versions: { company: { legal_name: string }; changed: string[] }[] }
    expect(versions.map(({ company, changed }) => [company.legal_name, changed])).to.deep.equal([
      ['FORMER NAME LIMITED', []],
      ['PLAIN FIXTURE LIMITED', ['legal_name']],
    ])
    expect(asOf).to.have.nested.property('company.legal_name', 'FORMER NAME LIMITED')
    const rows = (changes?.['changes'] ?? []) as { company_number: string; kind: string }[]
    expect(rows.map(({ company_number, kind }) => `${company_number} ${kind}`)).to.deep.equal([
      '1002 added',
      '1999 removed',
      '73848 changed',
    ])
  })

  it('[7.2] are what a lookup of a number advises that only an earlier file has', () =>
    expectCharges(service, [], async () => {
      const operation: Operation = { operation: 'lookup', input: { company_number: '1999' } }
      for (const ask of [rest, mcp]) {
        const refused = await buy((payment) => ask(operation, payment))
        expect(refused.json['error']).to.include({ code: 'company_not_found', next: 'history' })
      }
    }))

  it('replay after a restart and a later day, byte for byte, and sell nothing from a stale dataset', async () => {
    const [operation] = OPERATIONS[0]!
    const payment = await payFor(rest(operation))
    const unused = await payFor(rest(operation))
    const bought = await rest(operation, payment)
    expect(bought.status).to.equal(200)
    await expectCharges(service, [], async () => {
      now = () => new Date(Date.now() + 73 * HOUR_MS)
      for (const [each] of OPERATIONS) expectRefusal(await rest(each), 'dataset_stale')
      expectRefusal(await rest(operation, unused), 'dataset_stale')
      expect((await rest(operation, payment)).text).to.equal(bought.text)
      now = () => new Date()
      await service.restart()
      expect((await rest(operation, payment)).text).to.equal(bought.text)
    })
  })

  const REFUSED: [path: string, code: RefusalCode][] = [
    [`${COMPANY}/${'1'.repeat(21)}/as-of/2026-01-06`, 'invalid_company_number'],
    ['/api/v1/changes?since=2026-01-01&cursor=x', 'invalid_query'],
    ['/api/v1/changes?since=2026-01-01&limit=01', 'invalid_query'],
    ['/api/v1/changes?since=2026-01-01&company_numbers=', 'invalid_query'],
    ['/api/v1/changes?since=2026-01-01&company_numbers=1,', 'invalid_query'],
    ['/api/v1/changes?since=2026-01-01&company_numbers=1&company_numbers=2', 'duplicate_parameter'],
    [`${COMPANY}//history`, 'not_found'],
    [`${COMPANY}//as-of/2026-01-06`, 'not_found'],
  ]
  for (const [path, code] of REFUSED)
    it(`[4.8.1, 4.9.1, 4.10.1] refuse ${path} with ${code} before a quote`, async () => {
      expectRefusal(await get(path), code)
    })
})

describe('[3.1] the operations on earlier files without a readable journal', () => {
  let service: TestService
  const { get, lookup, buy } = buyOverTransports(() => service)

  beforeEach(async () => {
    service = await startTestService()
  })
  afterEach(() => service.stop())

  it('get 503 before a charge if it is missing, while lookups and the synthetic company are sold', async () => {
    await rm(historyFolder(service.directory), { recursive: true })
    await expectCharges(service, [PRICE, PRICE], async () => {
      for (const [, path] of OPERATIONS)
        expectRefusal(await buy((payment) => get(path, payment)), 'dataset_unavailable')
      expect((await buy((payment) => lookup('73848', payment))).status).to.equal(200)
      expect((await buy((payment) => get(`${COMPANY}/00000000/history`, payment))).status).to.equal(200)
    })
  })

  it('get 503 before a charge if it is damaged', async () => {
    const database = new HistoryDatabase(service.directory, { readOnly: false })
    const key = companyKey('73848')
    database.write(() =>
      database.putVersion(key, { step: database.latestOf(key)!, before: undefined, entry: Buffer.from('damaged') }),
    )
    await database.close()
    await expectCharges(service, [], async () => {
      const path = `${COMPANY}/73848/history`
      expectRefusal(await buy((payment) => get(path, payment)), 'dataset_unavailable')
    })
    expect(service.reports.map(([event]) => event)).to.include('dataset_unreadable')
  })
})
