/** The payments that were sold, as an operator lists them for the accounts. */
import { expect } from 'chai'
import { listSold } from '../../../operator/cli/sold-payments.ts'
import type { LogQuery } from '../../../store/log/responses.ts'
import { makeRecord } from '../../support/records.ts'
import { runCommand } from '../../support/cli.ts'
import { startTestService } from '../../support/service.ts'
import { useService } from '../../support/use-service.ts'

const DAY_MS = 86_400_000
const encode = (settlement: object) => Buffer.from(JSON.stringify(settlement)).toString('base64')

describe('the command payments sold', () => {
  const { service, lookup, payFor } = useService(() => startTestService())
  const list = async (since: string) =>
    (await runCommand(['payments', 'sold', '--since', since], { environment: { DATA_DIR: service.directory } })).lines

  it('lists each settled payment with its amount and transaction, and none of an earlier day', async () => {
    const transactions: string[] = []
    for (const number of ['73848', '73848']) {
      const { status, headers } = await lookup(number, await payFor(lookup(number)))
      expect(status).to.equal(200)
      const response = Buffer.from(String(headers['payment-response']), 'base64').toString()
      transactions.push((JSON.parse(response) as { transaction: string }).transaction)
    }
    await lookup('99999999', await payFor(lookup('99999999')))
    const [header, ...rows] = await list(new Date().toISOString().slice(0, 10))
    expect(header).to.equal('sold_at,operation,amount_usdc,network,payer,transaction,state')
    const sold = rows.map((row) => row.split(','))
    expect(sold.map(([, operation, amount]) => [operation, amount])).to.deep.equal(
      transactions.map(() => ['lookup', '0.001000']),
    )
    expect(sold.map(([, , , , , transaction]) => transaction)).to.have.members(transactions)
    expect(sold[0]?.[4]?.toLowerCase()).to.equal(service.buyer.address.toLowerCase())
    expect(await list(new Date(Date.now() + DAY_MS).toISOString().slice(0, 10))).to.deep.equal([header])
  })

  it('lists a payment once that becomes final meanwhile, and says that records are damaged after the others', async () => {
    const settled = { state: 'settled', payment_response: encode({ transaction: '0x1' }) } as const
    const [one, two, three] = ['1', '2', '3'].map((identity) => makeRecord({ identity, ...settled }))
    const log = {
      list: async ({ kind }: LogQuery) => ({
        identities: kind === 'open' ? ['1', '2'] : ['1', '2', '3', '4'],
        next: undefined,
      }),
      read: async (identity: string) => {
        if (identity === '4') throw new Error('damaged')
        // The second one is settled only after the open ones were read.
        return { '1': one, '2': readTwice(identity) ? two : makeRecord({ identity }), '3': three }[identity]
      },
    }
    const read = new Set<string>()
    const readTwice = (identity: string) => read.has(identity) || !read.add(identity)
    const listed: string[] = []
    const listAll = async () => {
      for await (const [, , , , , transaction = ''] of listSold(log as never, '2026-01-01')) listed.push(transaction)
    }
    expect(await listAll().catch(({ message }: Error) => message)).to.equal(
      '1 records cannot be read, and are not listed',
    )
    expect(listed).to.have.lengthOf(3)
  })
})
