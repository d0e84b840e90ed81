/** What the chain says of an authorization, read from a real chain and a real token, in every way a nonce can end. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { type Hex, parseAbi, createWalletClient, http, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { openChain, type Chain } from '../../../agent/payments/chain.ts'
import { judge } from '../../../agent/payments/reconcile.ts'
import { DEPLOYMENTS, requirementsOf } from '../../../agent/payments/terms.ts'
import { prepareChain } from '../../../agent/sandbox/deploy.ts'
import { rpc } from '../../../agent/sandbox/rpc.ts'
import { testChainUrl } from '../../support/chain.ts'
import { tokenOn } from '../../support/token.ts'
import { signedPayment, testTerms, type AuthorizationFields, type WirePayment } from '../../support/payments.ts'
import { signCancellation } from '../../support/eip3009.ts'
import { settleDirectly, settleTogether } from '../../support/settle-directly.ts'

const { asset, chainId } = DEPLOYMENTS.testnet
/** With epochs of one slot, two blocks more make a block final. */
const UNTIL_FINAL = '0x2'

describe('the evidence of the chain', () => {
  const key = generatePrivateKey()
  const payer = privateKeyToAccount(key)
  let url: string
  let chain: Chain
  let fromBlock: bigint

  before(async () => {
    url = await testChainUrl()
    await prepareChain({ url, buyer: payer.address, relayer: payer.address })
    chain = openChain({ url, chainId })
  })
  beforeEach(async () => {
    fromBlock = await chain.head()
  })

  const sign = (authorization: Partial<AuthorizationFields> = {}) => signedPayment({ key, authorization })
  const evidence = ({ payload }: WirePayment) =>
    chain.evidence({ asset, authorization: payload.authorization, fromBlock })
  const verdict = async (payment: WirePayment) =>
    judge({
      evidence: await evidence(payment),
      authorization: payment.payload.authorization,
      requirements: requirementsOf(testTerms, 'lookup'),
      now: new Date(),
    })

  const transactionOf = async (payment: WirePayment) => {
    const found = await evidence(payment)
    return found.nonce === 'used' ? found.transfer.transaction : found.nonce
  }

  it('of an authorization nobody has used is a free nonce', async () => {
    const payment = await sign()
    expect(await evidence(payment)).to.include({ nonce: 'free' })
    expect(await verdict(payment)).to.equal('free')
  })

  it('of one that somebody else has sent is the transfer, and so it is paid', async () => {
    const payment = await sign()
    const transaction = await settleDirectly({ rpcUrl: url, payload: payment.payload })
    expect(await verdict(payment)).to.equal('paid')
    expect(await transactionOf(payment)).to.equal(transaction)
    await rpc(url, 'anvil_mine', UNTIL_FINAL)
    expect(await verdict(payment)).to.equal('paid_for_good')
  })

  it('of one that the payer has burned on himself is a transfer that pays nobody', async () => {
    const payment = await sign()
    const { nonce } = payment.payload.authorization
    const burned = await sign({ nonce, to: payer.address })
    await settleDirectly({ rpcUrl: url, payload: burned.payload })
    expect(await evidence(payment)).to.include({ nonce: 'used' })
    expect(await verdict(payment)).to.equal('spent')
    await rpc(url, 'anvil_mine', UNTIL_FINAL)
    expect(await verdict(payment)).to.equal('spent_for_good')
  })

  it('of one burned for another amount is not the payment', async () => {
    const payment = await sign()
    const cheaper = await sign({ nonce: payment.payload.authorization.nonce, value: '999' })
    await settleDirectly({ rpcUrl: url, payload: cheaper.payload })
    expect(await verdict(payment)).to.equal('spent')
  })

  it('of two in one transaction is to each its own transfer', async () => {
    const burned = await sign({ to: payer.address })
    const paid = await sign()
    const transaction = await settleTogether(url, [burned.payload, paid.payload])
    expect(await verdict(paid)).to.equal('paid')
    expect(await transactionOf(paid)).to.equal(transaction)
    expect(await verdict(burned)).to.equal('spent')
  })

  it('of one that was cancelled is just that', async () => {
    const payment = await sign()
    await cancel(url, key, payment.payload.authorization.nonce)
    expect(await evidence(payment)).to.deep.equal({ nonce: 'cancelled', isFinal: false })
    expect(await verdict(payment)).to.equal('spent')
    await rpc(url, 'anvil_mine', UNTIL_FINAL)
    expect(await evidence(payment)).to.deep.equal({ nonce: 'cancelled', isFinal: true })
    expect(await verdict(payment)).to.equal('spent_for_good')
  })

  it('is not taken from a log that is older than the payment', async () => {
    const payment = await sign()
    await settleDirectly({ rpcUrl: url, payload: payment.payload })
    await rpc(url, 'anvil_mine', '0x2')
    fromBlock = await chain.head()
    expect(await evidence(payment)).to.deep.equal({ nonce: 'unclear' })
    expect(await verdict(payment)).to.equal('nothing')
  })

  it('of one whose time is over is final only with a final block after its end', async () => {
    const past = await sign({ validBefore: String(Math.floor(Date.now() / 1000) - 1000) })
    await rpc(url, 'anvil_mine', '0x4')
    const found = await evidence(past)
    expect(found).to.include({ nonce: 'free' })
    expect(await verdict(past)).to.equal('over')
    const soon = await sign({ validBefore: String(Math.floor(Date.now() / 1000) + 5) })
    expect(await verdict(soon)).to.equal('late')
  })

  it('of one payer does not speak for another with the same nonce', async () => {
    const payment = await sign()
    await settleDirectly({ rpcUrl: url, payload: payment.payload })
    const stranger = await signedPayment({ authorization: { nonce: payment.payload.authorization.nonce } })
    expect(await evidence(stranger)).to.include({ nonce: 'free' })
  })

  it('is an error where there is no chain', async () => {
    const payment = await sign()
    const nowhere = openChain({ url: 'http://127.0.0.1:1', chainId })
    const asked = nowhere.evidence({ asset, authorization: payment.payload.authorization, fromBlock })
    expect(await asked.catch((error: unknown) => error)).to.be.instanceOf(Error)
  })

  it('is found days later on a node that searches a thousand blocks at most', async () => {
    const payment = await sign()
    await cancel(url, key, payment.payload.authorization.nonce)
    const node = createServer(async (request, response) => {
      const body = await text(request)
      const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: Record<string, Hex>[] }
      const answer = (result: object) => response.end(JSON.stringify({ jsonrpc: '2.0', id, ...result }))
      if (method === 'eth_blockNumber') return answer({ result: '0xfffff' })
      const { fromBlock: first = '0x0', toBlock: last = '0xfffff' } = params[0] ?? {}
      const isWide = method === 'eth_getLogs' && BigInt(last) - BigInt(first) >= 1000n
      if (isWide) return answer({ error: { code: -32_005, message: 'too many blocks' } })
      const headers = { 'Content-Type': 'application/json' }
      return response.end(await (await fetch(url, { method: 'POST', headers, body })).text())
    })
    await new Promise<void>((resolve) => void node.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = node.address() as AddressInfo
      const { authorization } = payment.payload
      const found = await openChain({ url: `http://127.0.0.1:${port}`, chainId }).evidence({
        asset,
        authorization,
        fromBlock,
      })
      expect(found).to.include({ nonce: 'cancelled' })
    } finally {
      node.closeAllConnections()
      node.close()
    }
  })

  it('is an error in time where a node begins an answer and does not end it', async () => {
    const node = createServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).write('{')
    })
    await new Promise<void>((resolve) => void node.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = node.address() as AddressInfo
      const slow = openChain({ url: `http://127.0.0.1:${port}`, chainId, timeoutMs: 200 })
      const late = new Promise((resolve) => void setTimeout(() => resolve('late'), 3000))
      expect(await Promise.race([slow.head().catch((error: unknown) => error), late])).to.be.instanceOf(Error)
    } finally {
      node.closeAllConnections()
      node.close()
    }
  })

  it('leaves the test token with what was paid', async () => {
    const before = await tokenOn(url).balanceOf(testTerms.payTo)
    await settleDirectly({ rpcUrl: url, payload: (await sign()).payload })
    expect((await tokenOn(url).balanceOf(testTerms.payTo)) - before).to.equal(1000n)
  })
})

async function cancel(url: string, key: Hex, nonce: string): Promise<void> {
  const account = privateKeyToAccount(key)
  const signature = await signCancellation(key, account.address, nonce as Hex)
  const wallet = createWalletClient({ account, transport: http(url) }).extend(publicActions)
  const hash = await wallet.writeContract({
    chain: null,
    address: asset,
    abi: parseAbi(['function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)']),
    functionName: 'cancelAuthorization',
    args: [account.address, nonce as Hex, signature],
  })
  await wallet.waitForTransactionReceipt({ hash, pollingInterval: 50 })
}
