/** The payments of a list: which rows each has. */
import { expect } from 'chai'
import { folderStorage } from '../../../buyer/library/folder-storage.ts'
import { readList } from '../../../buyer/lists/list.ts'
import { planList } from '../../../buyer/lists/plan.ts'
import { parseTable } from '../../../buyer/table/read-table.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

/** The rows and the bytes of the payments of a list, in their order. */
async function paymentsOf(rows: readonly string[]) {
  const text = ['Company,CRO,Address', ...rows].join('\n')
  const table = await parseTable(new TextEncoder().encode(text), { name: 'list.csv' })
  const list = readList(table, { columns: { name: 1, company_number: 2, address: 3 }, headerRow: 1 })
  const { purchased } = await planList(list, {
    storage: folderStorage(await makeTemporaryDirectory()),
    baseUrl: 'http://127.0.0.1:4021',
    mode: 'testnet',
    now: new Date(),
    isBatched: true,
  })
  const batches = new Set([...purchased.rows.values()].flatMap(({ item }) => item?.batch ?? []))
  return [...batches].map(({ items, request }) => ({
    rows: items.length,
    bytes: Buffer.byteLength(String(request.body)),
  }))
}

const many = (count: number, rowOf: (at: number) => string) => Array.from({ length: count }, (_, at) => rowOf(at))
const BODY_BYTES_MAX = 65_536

describe('a list in batches', () => {
  const ROWS: [what: string, rows: string[], expected: number[]][] = [
    ['100 names in a payment', many(201, (at) => `Company ${at} Ltd,,`), [100, 100, 1]],
    ['100 numbers in a payment', many(101, (at) => `,${at + 1},`), [100, 1]],
    [
      '25 rows with number and name in the first payment',
      many(126, (at) => `Company ${at} Ltd,${at + 1},`),
      [25, 100, 1],
    ],
    [
      '25 rows first if one of them has a number',
      many(26, (at) => `Company ${at} Ltd,${at === 9 ? 10 : ''},`),
      [25, 1],
    ],
    ['a short list in one payment', many(25, (at) => `Company ${at} Ltd,${at + 1},`), [25]],
  ]
  for (const [what, rows, expected] of ROWS)
    it(`has ${what}`, async () => {
      expect((await paymentsOf(rows)).map((each) => each.rows)).to.deep.equal(expected)
    })

  it('has fewer long names in a payment, so that the service reads each body', async () => {
    const payments = await paymentsOf(many(100, (at) => `${'会'.repeat(150)} ${at},,${'社'.repeat(150)}`))
    expect(payments.map(({ rows }) => rows)).to.deep.equal([70, 30])
    for (const { bytes } of payments) expect(bytes).to.be.at.most(BODY_BYTES_MAX)
  })
})
