/** Draining the executor: running sales finish and are recorded, waiting ones are not started. */
import { expect } from 'chai'
import { CompanyAgentExecutor } from '../../../agent/sale/agent-executor.ts'
import { header, signedPayment } from '../../support/payments.ts'
import { makeClient } from '../../support/clients.ts'
import { settledReply, useSale } from '../../support/sale-harness.ts'
import { lookup } from '../../../agent/operation/lookup.ts'

const BASE_URL = 'http://127.0.0.1:4021'

describe('draining the executor', () => {
  const sale = useSale()
  let executor: CompanyAgentExecutor
  /** Answers the pending settlements. */
  let settlements: (() => void)[]

  beforeEach(async () => {
    executor = new CompanyAgentExecutor({ context: sale.context, baseUrl: BASE_URL, help: () => '' })
    settlements = []
  })

  /** Starts three requests with the same payment and waits for the settlement of the first. */
  async function startThree(reply: (payload: Parameters<typeof settledReply>[0]) => unknown) {
    sale.script.settle = (payload) => new Promise((resolve) => void settlements.push(() => resolve(reply(payload))))
    const request = {
      operation: { definition: lookup, input: { company_number: '00000000' } },
      resourceUrl: `${BASE_URL}/api/v1/company/00000000`,
      paymentHeaders: [header(await signedPayment())],
      client: makeClient(),
    } as const
    const outcomes = [executor.perform(request), executor.perform(request), executor.perform(request)]
    while (settlements.length === 0) await new Promise((resolve) => void setTimeout(resolve, 5))
    return outcomes
  }

  it('waits for the running settlement and starts no waiting request', async () => {
    const outcomes = await startThree(settledReply)
    sale.calls.length = 0
    const drained = executor.drain()
    settlements[0]?.()
    await drained
    expect(await sale.unsettledRecords()).to.deep.equal([])
    const kinds = (await Promise.all(outcomes)).map(({ kind }) => kind)
    expect(kinds).to.deep.equal(['answer', 'refused', 'refused'])
    expect(sale.calls).to.deep.equal([])
  })

  it('does not wait for requests behind a payment with an unknown outcome', async () => {
    const outcomes = await startThree(() => undefined)
    const drained = executor.drain().then(() => 'drained')
    settlements[0]?.()
    const late = new Promise((resolve) => void setTimeout(() => resolve('late'), 1000))
    expect(await Promise.race([drained, late])).to.equal('drained')
    expect(settlements).to.have.lengthOf(1)
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).to.deep.equal(['refused', 'refused', 'refused'])
  })
})
