/** The payments that were sold, as an operator lists them for the accounts. */
import { expect } from 'chai'
import { runCommand } from '../../support/cli.ts'
import { startTestService } from '../../support/service.ts'
import { useService } from '../../support/use-service.ts'

const DAY_MS = 86_400_000

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
})
