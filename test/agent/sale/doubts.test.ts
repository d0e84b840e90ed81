/**
 * Results of the chain that would refuse or stop a sale: they need another node that agrees, and times need a block.
 */
import { expect } from 'chai'
import type { Observation } from '../../../agent/settlement/chain/observe.ts'
import type { NonceState } from '../../../agent/settlement/decide.ts'
import { observationOf, type FakeState } from '../../support/fake-chain.ts'
import { signedPayment, type WirePayment } from '../../support/payments.ts'
import { codeOf, settledReply, TRANSACTION, useSale } from '../../support/sale-harness.ts'

const UNAVAILABLE = 'payment_verification_unavailable'
const UNKNOWN = 'payment_outcome_unknown'

describe('a doubt about a payment', () => {
  const sale = useSale()
  let asked: number[]

  beforeEach(() => void (asked = []))

  /** Gives the service two nodes. The first one is asked unless another one is named. */
  function useNodes(...states: [FakeState | undefined, FakeState | undefined]): void {
    const { services } = sale.context
    const { chain } = services
    const observe: typeof chain.observe = async (observed, options = {}): Promise<Observation> => {
      if (observed[0]?.recordedBlock !== undefined) return chain.observe(observed, options)
      const { node = 0 } = options
      asked.push(node)
      const state = states[node]
      if (!state) throw new Error('The node does not answer')
      return { ...observationOf(sale.now(), observed, [state]), node }
    }
    sale.context.services = { ...services, chain: { ...chain, nodeCount: 2, observe } }
  }

  /** The receiver has been paid, as the chain shows once the transfer is there. */
  const paidBy =
    ({ payload: { authorization } }: WirePayment, isThere: () => boolean) =>
    async () => {
      const { from, to } = authorization
      const transfer = { from, to, value: 1000n, transaction: TRANSACTION }
      return (isThere() ? { nonce: 'used', transfer, isFinal: false } : { nonce: 'unclear' }) satisfies NonceState
    }

  it('[5.7.14] about its nonce ends with a second node that shows it free, and the sale with its transfer', async () => {
    const payment = await signedPayment()
    let isMined = false
    sale.script.nonceState = paidBy(payment, () => isMined)
    useNodes({ isNonceUsed: true }, {})
    sale.script.settle = async (payload) => settledReply(payload)
    expect(codeOf(await sale.lookup(payment))).to.equal(UNKNOWN)
    sale.pass(10_000)
    isMined = true
    expect(codeOf(await sale.lookup(payment))).to.equal('answer')
  })

  it('[5.7.14] about its nonce stays if the second node is behind, agrees or does not answer', async () => {
    const late = BigInt(Math.floor(sale.now().getTime() / 1000) - 20)
    for (const [second, code] of [
      [{ time: late }, UNAVAILABLE],
      [{ isNonceUsed: true }, UNKNOWN],
      [undefined, UNKNOWN],
    ] as const) {
      const payment = await signedPayment()
      sale.script.nonceState = paidBy(payment, () => false)
      useNodes({ isNonceUsed: true }, second)
      expect(codeOf(await sale.lookup(payment))).to.equal(code)
    }
    expect(sale.count('settle')).to.equal(0)
  })

  it('[5.7.14] costs no second observation without a doubt', async () => {
    useNodes({}, {})
    expect(codeOf(await sale.lookup(await signedPayment()))).to.equal('answer')
    expect(asked).to.deep.equal([0])
  })

  for (const [name, setBackSeconds, code] of [
    ['65 s behind', 65, 'clock_wrong'],
    ['two hours behind', 7_200, 'clock_wrong'],
    ['30 s behind', 30, UNAVAILABLE],
  ] as const)
    for (const authorization of [
      { validAfter: (now: number) => now - 10, validBefore: (now: number) => now + 290 },
      { validAfter: () => 0, validBefore: (now: number) => now + 3_655 },
    ])
      it(`[5.3.6] is ${code} if the clock is ${name} and a block shows the payment as timely`, async () => {
        const now = Math.floor(Date.now() / 1000)
        sale.now = () => new Date((now - setBackSeconds) * 1000)
        sale.script.observe = async () => ({ time: BigInt(now) })
        const payment = await signedPayment({
          authorization: {
            validAfter: String(authorization.validAfter(now)),
            validBefore: String(authorization.validBefore(now)),
          },
        })
        expect(codeOf(await sale.lookup(payment))).to.equal(code)
        // With the right clock it is sold.
        sale.now = () => new Date(now * 1000)
        expect(codeOf(await sale.lookup(payment))).to.equal('answer')
      })

  it('[5.3.6] is a refusal for its times only in a block that shows them', async () => {
    const now = Math.floor(Date.now() / 1000)
    sale.now = () => new Date(now * 1000)
    const authorization = { validAfter: String(now + 100), validBefore: String(now + 300) }
    const payment = await signedPayment({ authorization })
    expect(codeOf(await sale.lookup(payment))).to.equal('payment_invalid')
    sale.script.observe = async () => ({ time: BigInt(now + 101) })
    expect(codeOf(await sale.lookup(payment))).to.equal('clock_wrong')
  })
})
