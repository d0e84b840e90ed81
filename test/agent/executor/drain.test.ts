/** The stop: what has begun ends and is recorded, what waits in line is not begun. */
import { expect } from 'chai'
import { CompanyAgentExecutor } from '../../../agent/executor/agent-executor.ts'
import { header, signedPayment } from '../../support/payments.ts'
import { settledReply, TestSeller } from '../../support/seller.ts'

const ORDER = {
  operation: { operation: 'lookup', input: { company_number: '00000000' } },
  resourceUrl: 'http://127.0.0.1:4021/api/v1/company/00000000',
} as const

describe('a stop', () => {
  let shop: TestSeller

  beforeEach(async () => {
    shop = await TestSeller.open()
  })
  afterEach(() => shop.close())

  it('waits for the settlement under way and begins none of those in line', async () => {
    const settles: (() => void)[] = []
    shop.script.settle = (payload) => new Promise((resolve) => void settles.push(() => resolve(settledReply(payload))))
    const executor = new CompanyAgentExecutor({ seller: shop.seller, baseUrl: 'http://127.0.0.1:4021', help: '' })
    const order = { ...ORDER, paymentHeaders: [header(await signedPayment())] }
    const sales = [executor.perform(order), executor.perform(order), executor.perform(order)]
    while (settles.length === 0) await new Promise((resolve) => void setTimeout(resolve, 5))
    shop.calls.length = 0
    const drained = executor.drain()
    settles[0]?.()
    await drained
    const outcomes = await Promise.all(sales)
    expect(outcomes.map(({ kind }) => kind)).to.deep.equal(['answer', 'refused', 'refused'])
    expect(shop.calls).to.deep.equal([])
    expect(await shop.records()).to.deep.equal([])
  })

  it('is not held up by payments in line whose outcome is unknown', async () => {
    const settles: (() => void)[] = []
    shop.script.settle = () => new Promise((resolve) => void settles.push(() => resolve(undefined)))
    const executor = new CompanyAgentExecutor({ seller: shop.seller, baseUrl: 'http://127.0.0.1:4021', help: '' })
    const order = { ...ORDER, paymentHeaders: [header(await signedPayment())] }
    for (let sale = 0; sale < 3; sale += 1) void executor.perform(order)
    while (settles.length === 0) await new Promise((resolve) => void setTimeout(resolve, 5))
    const drained = executor.drain().then(() => 'drained')
    settles[0]?.()
    const late = new Promise((resolve) => void setTimeout(() => resolve('late'), 1000))
    expect(await Promise.race([drained, late])).to.equal('drained')
    expect(settles).to.have.lengthOf(1)
  })
})
