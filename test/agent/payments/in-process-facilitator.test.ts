/** One's own relayer on a real chain that loses one of its transactions: no sale stays stuck behind the gap in its numbers. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Outcome } from '../../../agent/operation/outcome.ts'
import type { WirePayment } from '../../support/payments.ts'
import { openRealShop, type RealShop } from '../../support/real-shop.ts'

const POLL_MS = 20

const codeOf = (outcome: Outcome) => (outcome.kind === 'refused' ? outcome.refusal.code : outcome.kind)

describe('a relayer whose transaction is dropped', function () {
  // A receipt is waited for 3 s, and a chain of its own takes as long.
  this.timeout(90_000)
  let place: RealShop

  beforeEach(async () => {
    place = await openRealShop()
  })
  afterEach(() => place.close())

  /** The hash of the one transaction that waits to be mined. */
  async function waiting(): Promise<string> {
    for (;;) {
      const { pending } = (await place.rpc('txpool_content')) as {
        pending: Record<string, Record<string, { hash: string }>>
      }
      const [sent] = Object.values(pending).flatMap((ofSender) => Object.values(ofSender))
      if (sent) return sent.hash
      await sleep(POLL_MS)
    }
  }

  /** Sells up to the moment when its transaction waits to be mined, and loses that. */
  async function beginAndDrop(payment: WirePayment): Promise<{ outcome: Promise<Outcome> }> {
    await place.rpc('evm_setAutomine', false)
    const outcome = place.shop.lookup(payment)
    await place.rpc('anvil_dropTransaction', await waiting())
    await place.rpc('evm_setAutomine', true)
    return { outcome }
  }

  it('does not take the transaction that has its number next for its own', async () => {
    const [first, second] = [await place.sign(), await place.sign()]
    // The relayer's very first: the next one has its number again.
    const { outcome } = await beginAndDrop(first)
    expect(codeOf(await place.shop.lookup(second))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(1)
    expect(codeOf(await outcome)).to.equal('payment_outcome_unknown')
    expect(codeOf(await place.shop.lookup(first))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(2)
  })

  it('sells to the next, and ends every sale that waited behind the gap, from one transfer each', async () => {
    const payments = await Promise.all([1, 2, 3, 4].map(() => place.sign()))
    const [earlier, first, behind, next] = payments
    expect(codeOf(await place.shop.lookup(earlier))).to.equal('answer')
    const { outcome } = await beginAndDrop(first as WirePayment)
    const waited = place.shop.lookup(behind)
    expect(codeOf(await outcome)).to.equal('payment_outcome_unknown')
    expect(codeOf(await place.shop.lookup(next))).to.equal('answer')
    await waited
    for (const payment of payments) expect(codeOf(await place.shop.lookup(payment))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(payments.length)
  })
})

/** What geth says where a relayer can't pay for gas. x402 reads a buyer without money into it. */
const NO_GAS = {
  code: -32000,
  message: 'insufficient funds for gas * price + value: balance 100, tx cost 200, overshot 100',
}

describe('a relayer that has nothing left for gas', function () {
  this.timeout(60_000)
  let place: RealShop
  let node: Server
  let hasGas = false

  /** The node, but for what it says of transactions. */
  async function openNode(url: string): Promise<string> {
    node = createServer((request, response) => {
      void json(request).then(async (call) => {
        const { id, method } = call as { id: number; method: string }
        const isRefused = method === 'eth_sendRawTransaction' && !hasGas
        const answer = isRefused ? { jsonrpc: '2.0', id, error: NO_GAS } : await forward(url, call)
        return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
      })
    })
    await once(node.listen(0, '127.0.0.1'), 'listening')
    return `http://127.0.0.1:${(node.address() as AddressInfo).port}`
  }

  async function forward(url: string, call: unknown): Promise<unknown> {
    const headers = { 'Content-Type': 'application/json' }
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(call) })).json()
  }

  before(async () => {
    place = await openRealShop(openNode)
  })
  after(async () => {
    node.close()
    node.closeAllConnections()
    await place.close()
  })

  it('leaves the sale open, whatever the node calls it, and makes it once it has some', async () => {
    const payment = await place.sign()
    expect(codeOf(await place.shop.lookup(payment))).to.equal('payment_outcome_unknown')
    hasGas = true
    expect(codeOf(await place.shop.lookup(payment))).to.equal('answer')
    expect(await place.transfers()).to.have.lengthOf(1)
  })
})
