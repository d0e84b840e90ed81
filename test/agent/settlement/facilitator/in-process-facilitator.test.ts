/** The in-process facilitator on a real chain: dropped transactions, and a relayer without gas. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { concat, keccak256, numberToHex, pad, type Hex } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import type { Outcome } from '../../../../agent/operation/outcome.ts'
import {
  replying,
  sendJson,
  startFaultProxy,
  type Fault,
  type FaultProxy,
  type RpcCall,
} from '../../../support/fault-proxy.ts'
import { signedPayment, testTerms, type WirePayment } from '../../../support/payments.ts'
import { codeOf } from '../../../support/sale-harness.ts'
import { openSaleOnChain, type SaleOnChain } from '../../../support/sale-on-chain.ts'

const POLL_MS = 20
/** The delay after the first settlement of a payment. */
const SETTLEMENTS_APART_MS = 5_000

/** The hash of the pending transaction. */
async function pendingTransaction(place: SaleOnChain): Promise<string> {
  for (;;) {
    const { pending } = (await place.rpc('txpool_content')) as {
      pending: Record<string, Record<string, { hash: string }>>
    }
    const [sent] = Object.values(pending).flatMap((ofSender) => Object.values(ofSender))
    if (sent) return sent.hash
    await sleep(POLL_MS)
  }
}

describe('a relayer whose transaction is dropped', function () {
  // Waiting for a receipt takes up to 3 s, and so does the start of a chain.
  this.timeout(240_000)
  let place: SaleOnChain

  beforeEach(async () => {
    place = await openSaleOnChain()
  })
  afterEach(() => place.close())

  /** Sells until the transaction is pending, and drops the transaction. */
  async function sellAndDrop(payment: WirePayment): Promise<{ outcome: Promise<Outcome> }> {
    await place.rpc('evm_setAutomine', false)
    const outcome = place.sale.lookup(payment)
    await place.rpc('anvil_dropTransaction', await pendingTransaction(place))
    await place.rpc('evm_setAutomine', true)
    return { outcome }
  }

  it('blocks no later sale, and each sale ends with one transfer', async () => {
    const payments = await Promise.all([1, 2, 3, 4].map(() => place.sign()))
    const [earlier, first, behind, next] = payments
    expect(codeOf(await place.sale.lookup(earlier))).to.equal('answer')
    const { outcome } = await sellAndDrop(first as WirePayment)
    const waited = place.sale.lookup(behind)
    expect(codeOf(await outcome)).to.equal('payment_outcome_unknown')
    expect(codeOf(await place.sale.lookup(next))).to.equal('answer')
    await waited
    place.sale.pass(SETTLEMENTS_APART_MS)
    for (const payment of payments) expect(codeOf(await place.sale.lookup(payment))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(payments.length)
  })
})

/** The error of geth for a relayer without gas. x402 reads it as a payer without funds. */
const NO_GAS = {
  code: -32000,
  message: 'insufficient funds for gas * price + value: balance 100, tx cost 200, overshot 100',
}

describe('a relayer without gas', function () {
  this.timeout(240_000)
  let place: SaleOnChain
  let node: FaultProxy
  let hasGas = false

  before(async () => {
    place = await openSaleOnChain(async (url) => {
      const isRefused = ({ method }: RpcCall) => method === 'eth_sendRawTransaction' && !hasGas
      node = await startFaultProxy(url)
      node.fail(replying((call) => (isRefused(call) ? { error: NO_GAS } : undefined)))
      return node.url
    })
  })
  after(async () => {
    node.close()
    await place.close()
  })

  it('leaves the outcome unknown, and the retry settles once the relayer has gas', async () => {
    const payment = await place.sign()
    expect(codeOf(await place.sale.lookup(payment))).to.equal('payment_outcome_unknown')
    hasGas = true
    place.sale.pass(SETTLEMENTS_APART_MS)
    expect(codeOf(await place.sale.lookup(payment))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(1)
  })
})

/** `transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)` */
const TRANSFER_SELECTOR = '0xe3ee160e'
/** Where the test token has the balance of the payer. */
const balanceSlot = ({ payload }: WirePayment): Hex =>
  keccak256(concat([pad(payload.authorization.from as Hex), numberToHex(1, { size: 32 })]))
const REVERT = { error: { code: 3, message: 'execution reverted', data: '0x' } }

describe('[5.7.6] a transfer that the token reverts', function () {
  this.timeout(240_000)
  let place: SaleOnChain
  let node: FaultProxy
  /** The reply to a simulation. */
  let simulated: object | undefined
  let simulations: number
  let sent: number
  /** The reply to the next call. */
  let intercept: () => object | undefined

  beforeEach(async () => {
    intercept = () => undefined
    simulations = 0
    sent = 0
    simulated = undefined
    place = await openSaleOnChain(async (url) => {
      node = await startFaultProxy(url)
      node.fail(
        replying(({ method, params }) => {
          if (method === 'eth_sendRawTransaction') sent += 1
          const intercepted = intercept()
          if (intercepted) return intercepted
          const isSimulation = method === 'eth_call' && JSON.stringify(params[0]).includes(TRANSFER_SELECTOR)
          if (isSimulation) simulations += 1
          return isSimulation ? simulated : undefined
        }),
      )
      return node.url
    })
  })
  afterEach(async () => {
    node.close()
    await place.close()
  })

  /** Retries more often than a transfer may revert, at times at which a settlement is due. */
  async function retry(payment: WirePayment): Promise<void> {
    for (let retries = 0; retries < 4; retries += 1) {
      place.sale.pass(30_000)
      expect(codeOf(await place.sale.lookup(payment))).to.equal('payment_outcome_unknown')
    }
  }

  function afterVerification(change: () => unknown): void {
    const { facilitator } = place.sale.context.services
    const verify = facilitator.verify.bind(facilitator)
    facilitator.verify = async (...call) => {
      const reply = await verify(...call)
      await change()
      return reply
    }
    const settle = facilitator.settle.bind(facilitator)
    facilitator.settle = async (...call) => settle(...call).finally(mineLater)
  }

  /** A refusal is judged in a block after it. */
  async function mineLater(): Promise<void> {
    await place.rpc('evm_increaseTime', 5)
    await place.rpc('evm_mine')
  }

  it('on chain is sent twice', async () => {
    // The payer has no funds, and the node simulates the transfer wrongly.
    const payment = await signedPayment({ key: generatePrivateKey(), terms: testTerms })
    simulated = { result: '0x' }
    expect(codeOf(await place.sale.lookup(payment))).to.equal('payment_outcome_unknown')
    expect(sent).to.equal(1)
    await retry(payment)
    expect(sent).to.equal(2)
  })

  it('in simulations is simulated twice and not sent', async () => {
    const payment = await place.sign()
    afterVerification(() => {
      simulated = REVERT
      simulations = 0
    })
    expect(codeOf(await place.sale.lookup(payment))).to.equal('payment_outcome_unknown')
    await retry(payment)
    expect([simulations, sent]).to.deep.equal([2, 0])
  })

  it('[5.7.15] because its payer has spent the money is refused', async () => {
    const payment = await place.sign()
    const { asset } = testTerms
    afterVerification(() => place.rpc('anvil_setStorageAt', asset, balanceSlot(payment), `0x${'00'.repeat(32)}`))
    expect(codeOf(await place.sale.lookup(payment))).to.equal('payment_failed')
    expect(sent).to.equal(0)
  })

  it('[5.7.2] in no call, while a failed node call is no refusal, is sold later', async () => {
    let calls = -Infinity
    afterVerification(() => (calls = 0))
    for (let failing = 1, isReached = true; isReached; failing += 1) {
      const payment = await place.sign()
      calls = -Infinity
      intercept = () => ((calls += 1), calls === failing ? { error: { code: 429, message: 'too many' } } : undefined)
      const first = codeOf(await place.sale.lookup(payment))
      isReached = calls >= failing
      intercept = () => undefined
      expect(first, `call ${failing}`).to.be.oneOf(['answer', 'payment_outcome_unknown'])
      place.sale.pass(30_000)
      expect(codeOf(await place.sale.lookup(payment)), `after call ${failing}`).to.equal('answer')
    }
  })

  it('in no simulation is sent as soon as the node answers', async () => {
    const payment = await place.sign()
    afterVerification(() => (simulated = { error: { code: -32005, message: 'limit exceeded' } }))
    expect(codeOf(await place.sale.lookup(payment))).to.equal('payment_outcome_unknown')
    for (const seconds of [5, 10]) {
      place.sale.pass(seconds * 1000)
      expect(codeOf(await place.sale.lookup(payment))).to.equal('payment_outcome_unknown')
    }
    simulated = undefined
    place.sale.pass(30_000)
    expect(codeOf(await place.sale.lookup(payment))).to.equal('answer')
  })
})

describe('[5.8.1] a relayer with two nodes', function () {
  this.timeout(240_000)
  let nodes: FaultProxy[]
  let place: SaleOnChain

  before(async () => {
    place = await openSaleOnChain(async (url) => {
      nodes = await Promise.all([startFaultProxy(url), startFaultProxy(url)])
      return nodes.map((node) => node.url)
    })
  })
  afterEach(() => {
    for (const node of nodes) node.fail(undefined)
  })
  after(async () => {
    for (const node of nodes) node.close()
    await place.close()
  })

  const FAULTS: Record<string, Fault> = {
    'is dead': ({ response }) => void response.destroy(),
    'answers with errors': ({ call, response }) =>
      sendJson(response, { jsonrpc: '2.0', id: call.id, error: { code: -32_603, message: 'internal error' } }),
  }
  for (const [name, fault] of Object.entries(FAULTS))
    for (const position of [0, 1])
      it(`sells while node ${position + 1} ${name}`, async () => {
        nodes[position]?.fail(fault)
        const before = (await place.transfers()).length
        for (let sales = 1; sales <= 2; sales += 1) {
          expect(codeOf(await place.sale.lookup(await place.sign()))).to.equal('answer')
          expect(await place.transfers()).to.have.lengthOf(before + sales)
        }
      })

  it('makes a refusal unclear if neither of its nodes answers', async () => {
    for (const node of nodes) node.fail(({ response }) => void response.destroy())
    expect(codeOf(await place.sale.lookup(await place.sign()))).to.equal('payment_verification_unavailable')
  })
})
