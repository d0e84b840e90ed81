/** The in-process facilitator on a real chain: dropped transactions, and a relayer without gas. */
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import { listen, type ListeningServer } from '../../support/listen.ts'
import type { WirePayment } from '../../support/payments.ts'
import { openSaleOnChain, type SaleOnChain } from '../../support/sale-on-chain.ts'

const POLL_MS = 20

const codeOf = (outcome: Outcome) => (outcome.kind === 'refused' ? outcome.refusal.code : outcome.kind)

describe('a relayer whose transaction is dropped', function () {
  // Waiting for a receipt takes up to 3 s, and so does the start of a chain.
  this.timeout(90_000)
  let place: SaleOnChain

  beforeEach(async () => {
    place = await openSaleOnChain()
  })
  afterEach(() => place.close())

  /** The hash of the pending transaction. */
  async function pendingTransaction(): Promise<string> {
    for (;;) {
      const { pending } = (await place.rpc('txpool_content')) as {
        pending: Record<string, Record<string, { hash: string }>>
      }
      const [sent] = Object.values(pending).flatMap((ofSender) => Object.values(ofSender))
      if (sent) return sent.hash
      await sleep(POLL_MS)
    }
  }

  /** Sells until the transaction is pending, and drops the transaction. */
  async function sellAndDrop(payment: WirePayment): Promise<{ outcome: Promise<Outcome> }> {
    await place.rpc('evm_setAutomine', false)
    const outcome = place.shop.lookup(payment)
    await place.rpc('anvil_dropTransaction', await pendingTransaction())
    await place.rpc('evm_setAutomine', true)
    return { outcome }
  }

  it('is not taken for a later transaction with the same nonce', async () => {
    const [first, second] = [await place.sign(), await place.sign()]
    // The next transaction gets the same nonce.
    const { outcome } = await sellAndDrop(first)
    expect(codeOf(await place.shop.lookup(second))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(1)
    expect(codeOf(await outcome)).to.equal('payment_outcome_unknown')
    expect(codeOf(await place.shop.lookup(first))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(2)
  })

  it('blocks no later sale, and each sale ends with one transfer', async () => {
    const payments = await Promise.all([1, 2, 3, 4].map(() => place.sign()))
    const [earlier, first, behind, next] = payments
    expect(codeOf(await place.shop.lookup(earlier))).to.equal('answer')
    const { outcome } = await sellAndDrop(first as WirePayment)
    const waited = place.shop.lookup(behind)
    expect(codeOf(await outcome)).to.equal('payment_outcome_unknown')
    expect(codeOf(await place.shop.lookup(next))).to.equal('answer')
    await waited
    for (const payment of payments) expect(codeOf(await place.shop.lookup(payment))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(payments.length)
  })
})

/** The error of geth for a relayer without gas. x402 reads it as a payer without funds. */
const NO_GAS = {
  code: -32000,
  message: 'insufficient funds for gas * price + value: balance 100, tx cost 200, overshot 100',
}

describe('a relayer without gas', function () {
  this.timeout(60_000)
  let place: SaleOnChain
  let node: ListeningServer
  let hasGas = false

  /** A proxy of the node that rejects transactions. */
  async function startProxy(url: string): Promise<string> {
    node = await listen(
      createServer((request, response) => {
        void json(request).then(async (call) => {
          const { id, method } = call as { id: number; method: string }
          const isRefused = method === 'eth_sendRawTransaction' && !hasGas
          const answer = isRefused ? { jsonrpc: '2.0', id, error: NO_GAS } : await forward(url, call)
          return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
        })
      }),
    )
    return node.url
  }

  async function forward(url: string, call: unknown): Promise<unknown> {
    const headers = { 'Content-Type': 'application/json' }
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(call) })).json()
  }

  before(async () => {
    place = await openSaleOnChain(startProxy)
  })
  after(async () => {
    node.close()
    await place.close()
  })

  it('leaves the outcome unknown, and the retry settles once the relayer has gas', async () => {
    const payment = await place.sign()
    expect(codeOf(await place.shop.lookup(payment))).to.equal('payment_outcome_unknown')
    hasGas = true
    expect(codeOf(await place.shop.lookup(payment))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(1)
  })
})
