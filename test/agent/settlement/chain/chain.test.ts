/** Nonces of authorizations, read from a real chain and token for every way to spend a nonce. */
import { expect } from 'chai'
import { type Hex, numberToHex, pad, parseAbi, createWalletClient, http, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { openChain, type Chain } from '../../../../agent/settlement/chain/chain.ts'
import { nonceKey, transferCall } from '../../../../agent/settlement/chain/token.ts'
import type { NonceState } from '../../../../agent/settlement/decide.ts'
import { observeRecords } from '../../../../agent/settlement/observe-records.ts'
import { DEPLOYMENTS } from '../../../../agent/payment/terms.ts'
import { prepareChain } from '../../../../agent/sandbox/prepare-chain.ts'
import { observationOf } from '../../../support/fake-chain.ts'
import { replying, startFaultProxy, type RpcCall } from '../../../support/fault-proxy.ts'
import { makeRecord } from '../../../support/records.ts'
import { rpc, testChainUrl } from '../../../support/chain.ts'
import { signedPayment, type AuthorizationFields, type WirePayment } from '../../../support/payments.ts'
import { signCancellation } from '../../../support/eip3009.ts'
import { settleDirectly, settleTogether } from '../../../support/settle-directly.ts'

const { asset, chainId } = DEPLOYMENTS.testnet
/** With epochs of one slot, two further blocks make a block final. */
const UNTIL_FINAL = '0x2'
/** The newest block of a chain that is searched for a payment without a record. */
const NEWEST = 40_000_000

interface NonceQuery {
  asset: string
  authorization: AuthorizationFields
  fromBlock: bigint
  fromBlockHash?: string
  transaction?: string
}

/** For a payment with a record. */
async function nonceStateFrom(chain: Chain, query: NonceQuery): Promise<NonceState> {
  const { asset: token, authorization, fromBlock, fromBlockHash, transaction } = query
  const { payment, requirements } = makeRecord({})
  const record = makeRecord({
    state: 'unknown',
    payment: { ...(payment as WirePayment), payload: { ...(payment as WirePayment).payload, authorization } },
    requirements: { ...requirements, asset: token },
    from_block: String(fromBlock),
    ...(fromBlockHash !== undefined && { from_block_hash: fromBlockHash }),
    ...(transaction !== undefined && { reported_transaction: transaction }),
  })
  const [observed] = await observeRecords({ chain }, [record], { withFinal: true })
  return observed!.readNonce()
}

describe('the nonce on chain', () => {
  const key = generatePrivateKey()
  const payer = privateKeyToAccount(key)
  let url: string
  let chain: Chain
  let fromBlock: bigint

  before(async () => {
    url = await testChainUrl()
    await prepareChain({ url, buyer: payer.address, relayer: payer.address })
  })
  beforeEach(async () => {
    chain = openChain({ urls: [url], now: () => new Date(), chainId })
    fromBlock = await head()
  })

  const head = async () => (await chain.observe([])).number

  const nodes: { close: () => void }[] = []
  afterEach(() => {
    for (const node of nodes.splice(0)) node.close()
  })

  /** A node that gives some replies itself and passes the other calls on. */
  async function startNode(reply: (call: RpcCall) => object | undefined) {
    const node = await startFaultProxy(url)
    node.fail(replying(reply))
    nodes.push(node)
    return node
  }
  const sign = (authorization: Partial<AuthorizationFields> = {}) => signedPayment({ key, authorization })
  const nonceState = ({ payload }: WirePayment) =>
    nonceStateFrom(chain, { asset, authorization: payload.authorization, fromBlock })
  it('of an authorization that a third party sent is the transfer', async () => {
    const payment = await sign()
    const transaction = await settleDirectly({ rpcUrl: url, payload: payment.payload })
    expect(await nonceState(payment)).to.nested.include({ 'transfer.transaction': transaction, isFinal: false })
    await rpc(url, 'anvil_mine', UNTIL_FINAL)
    expect(await nonceState(payment)).to.nested.include({ 'transfer.transaction': transaction, isFinal: true })
  })

  it('of two authorizations in one transaction is the transfer of each', async () => {
    const other = await sign({ to: payer.address })
    const paid = await sign()
    const transaction = await settleTogether(url, [other.payload, paid.payload])
    for (const { payload } of [other, paid]) {
      const found = await nonceState({ payload } as WirePayment)
      expect(found).to.nested.include({ 'transfer.transaction': transaction })
      expect(found).to.nested.include({ 'transfer.to': payload.authorization.to.toLowerCase() })
    }
  })

  it('of a cancelled nonce is the cancellation', async () => {
    const payment = await sign()
    await cancel(url, key, payment.payload.authorization.nonce)
    expect(await nonceState(payment)).to.deep.equal({ nonce: 'cancelled', isFinal: false })
    await rpc(url, 'anvil_mine', UNTIL_FINAL)
    expect(await nonceState(payment)).to.deep.equal({ nonce: 'cancelled', isFinal: true })
  })

  it('[5.7.3] tells a transaction that failed from one that succeeded or that no block has', async () => {
    const made = await settleDirectly({ rpcUrl: url, payload: (await sign()).payload })
    // The token has no such function.
    const call = { from: payer.address, to: asset, data: '0x12345678', gas: '0x186a0' }
    await rpc(url, 'anvil_impersonateAccount', payer.address)
    await rpc(url, 'anvil_setBalance', payer.address, '0xde0b6b3a7640000')
    const failed = String(await rpc(url, 'eth_sendTransaction', call))
    const observation = await chain.observe([])
    const shown = []
    for (const each of [failed, made, pad('0x12')]) shown.push(await chain.hasFailed(each, observation))
    expect(shown).to.deep.equal([true, false, false])
    const node = await startNode(({ method }) => (method === 'eth_getTransactionReceipt' ? { result: {} } : undefined))
    const faulty = openChain({ urls: [node.url], now: () => new Date(), chainId })
    expect(await faulty.hasFailed(failed, observation).catch(() => 'unreadable')).to.equal('unreadable')
  })

  it('ignores logs before the first block of the payment', async () => {
    const payment = await sign()
    await settleDirectly({ rpcUrl: url, payload: payment.payload })
    await rpc(url, 'anvil_mine', '0x2')
    fromBlock = await head()
    expect(await nonceState(payment)).to.deep.equal({ nonce: 'unclear' })
  })

  it('[5.7.13, 5.7.15] tries a transfer, and changes nothing', async () => {
    const now = Math.floor(Date.now() / 1000)
    const poor = generatePrivateKey()
    const used = await sign()
    await settleDirectly({ rpcUrl: url, payload: used.payload })
    const forged = await sign()
    forged.payload.authorization.value = '999'
    const tried = async ({ payload }: WirePayment) => {
      const transfer = transferCall(payload)
      const { trial, payments } = await chain.observe([nonceKey(asset, payload.authorization)], { transfer })
      return [trial, payments[0]?.isNonceUsed]
    }
    const valid = await sign()
    for (let times = 0; times < 2; times += 1) expect(await tried(valid)).to.deep.equal(['made', false])
    expect(await tried(used)).to.deep.equal(['authorization', true])
    for (const [refused, reason] of [
      [forged, 'signature'],
      [await sign({ validAfter: String(now + 1_000) }), 'other'],
      [await sign({ validBefore: String(now - 1_000) }), 'authorization'],
      [await signedPayment({ key: poor }), 'balance'],
    ] as const)
      expect(await tried(refused)).to.deep.equal([reason, false])
  })

  describe('[5.7.12] without a recorded block', () => {
    /** The ranges that are searched on a chain with a block every two seconds. */
    async function searchWith(validBefore: number) {
      const searches: { from: number; to: number }[] = []
      const node = await startNode(({ method, params }) => {
        const [first] = params as [unknown]
        if (method === 'eth_getLogs') {
          const range = first as { fromBlock: Hex; toBlock: Hex }
          searches.push({ from: Number(range.fromBlock), to: Number(range.toBlock) })
          return { result: [] }
        }
        const number = first as Hex
        return { result: { number, hash: pad(number), timestamp: numberToHex(2n * BigInt(number)) } }
      })
      const { payload } = await sign({ validBefore: String(validBefore) })
      chain = openChain({ urls: [node.url], now: () => new Date(), chainId })
      const observed = observationOf(new Date(), [], [])
      const observation = { ...observed, number: BigInt(NEWEST), time: BigInt(2 * NEWEST) }
      const from = { time: BigInt(validBefore - 960) }
      const found = await chain.findUse({ ...nonceKey(asset, payload.authorization), from }, observation)
      expect(found).to.deep.equal({ nonce: 'unclear' })
      expect(searches.at(-1)?.to).to.equal(NEWEST)
      return searches
    }

    it('is searched from at most half an hour before the earliest time on', async () => {
      const thirtyDays = 30 * 86_400
      for (const validBefore of [2 * NEWEST, 2 * NEWEST + 300, 2 * NEWEST - thirtyDays]) {
        const earliest = (validBefore - 960) / 2
        const [first] = await searchWith(validBefore)
        expect(first?.from).to.be.within(earliest - 1_000, earliest)
      }
    })

    it('is searched from the first block on if the time is before it, and near the newest if it is after that', async () => {
      expect((await searchWith(1))[0]?.from).to.equal(0)
      expect(await searchWith(2 * NEWEST + 10_000_000)).to.deep.equal([{ from: NEWEST, to: NEWEST }])
    })
  })

  it('[5.3.4] includes the code of a contract and of an EIP-7702 delegation, and none of another account', async () => {
    const delegating = privateKeyToAccount(generatePrivateKey()).address
    const nonce = `0x${'1'.repeat(64)}` as const
    const codeOf = async (address: Hex) =>
      (await chain.observe([{ asset, payer: address, nonce }])).payments.map(({ codeBytes }) => codeBytes)
    expect(await codeOf(delegating)).to.deep.equal([0])
    await rpc(url, 'anvil_setCode', delegating, `0xef0100${asset.slice(2)}`)
    expect(await codeOf(delegating)).to.deep.equal([23])
    expect((await codeOf(asset))[0]).to.be.above(23)
  })

  describe('of a chain that is identified by a recorded block', () => {
    let query: NonceQuery

    beforeEach(async () => {
      fromBlock -= 1n
      const { payload } = await sign()
      query = {
        asset,
        authorization: payload.authorization,
        fromBlock,
        fromBlockHash: ((await rpc(url, 'eth_getBlockByNumber', numberToHex(fromBlock), false)) as { hash: string })
          .hash,
      }
    })
    const errorOf = (work: Promise<unknown>) => work.then(String, (error: unknown) => (error as Error).name)

    it('[5.7.8] is an error if the node has another block at this height', async () => {
      const other = { ...query, fromBlockHash: `0x${'99'.repeat(32)}` }
      expect(await errorOf(nonceStateFrom(chain, other))).to.equal('WrongChain')
    })

    it('[5.7.8] is an error if the node does not have this height', async () => {
      const above = (await head()) + 1000n
      expect(await errorOf(nonceStateFrom(chain, { ...query, fromBlock: above }))).to.not.contain('object')
    })

    it('[5.7.8] does not count a final block above the newest one', async () => {
      const payment = await sign()
      await settleDirectly({ rpcUrl: url, payload: payment.payload })
      await rpc(url, 'anvil_mine', UNTIL_FINAL)
      const other = { number: '0xffffff', hash: `0x${'99'.repeat(32)}`, timestamp: '0x1' }
      const node = await startNode(({ method, params }) =>
        method === 'eth_getBlockByNumber' && params[0] === 'finalized' ? { result: other } : undefined,
      )
      const mixed = openChain({ urls: [node.url], now: () => new Date(), chainId })
      const found = await nonceStateFrom(mixed, { ...query, authorization: payment.payload.authorization })
      expect(found).to.include({ nonce: 'used', isFinal: false })
    })

    for (const number of ['0x1', 'newest'])
      it(`[5.7.8] is an error if the final block, ${number}, came from another chain`, async () => {
        const other = { hash: `0x${'99'.repeat(32)}`, timestamp: '0x1' }
        const at = number === 'newest' ? numberToHex(await head()) : number
        const node = await startNode(({ method, params }) =>
          method === 'eth_getBlockByNumber' && params[0] === 'finalized'
            ? { result: { number: at, ...other } }
            : undefined,
        )
        const mixed = openChain({ urls: [node.url], now: () => new Date(), chainId })
        expect(await errorOf(mixed.observe([], { withFinal: true }))).to.equal('WrongChain')
      })
  })

  for (const reply of [{ result: null }, { error: { code: -32_602, message: 'unknown tag' } }]) {
    it(`counts confirmations on a node that answers ${Object.keys(reply)[0]} to the tag finalized`, async () => {
      const payment = await sign()
      await settleDirectly({ rpcUrl: url, payload: payment.payload })
      const paidAt = await head()
      let newest = 0n
      const node = await startNode(({ method, params }) => {
        if (method !== 'eth_getBlockByNumber') return undefined
        const block = { number: numberToHex(newest), hash: pad('0x1'), timestamp: '0x1' }
        return params[0] === 'latest' ? { result: block } : params[0] === 'finalized' ? reply : undefined
      })
      chain = openChain({ urls: [node.url], now: () => new Date(), chainId })
      for (const confirmations of [0n, 899n, 900n]) {
        newest = paidAt + confirmations
        expect(await nonceState(payment)).to.include({ nonce: 'used', isFinal: confirmations === 900n })
      }
    })
  }

  it('is found if the recorded first block is above the newest one', async () => {
    const payment = await sign()
    await settleDirectly({ rpcUrl: url, payload: payment.payload })
    fromBlock = (await head()) + 1_000_000n
    expect(await nonceState(payment)).to.include({ nonce: 'used' })
  })

  it('is that of the logs if the reported one is of another payment', async () => {
    const [payment, other] = [await sign(), await sign()]
    const transaction = await settleDirectly({ rpcUrl: url, payload: payment.payload })
    const reported = await settleDirectly({ rpcUrl: url, payload: other.payload })
    const { authorization } = payment.payload
    const found = await nonceStateFrom(chain, { asset, authorization, fromBlock, transaction: reported })
    expect(found).to.nested.include({ nonce: 'used', 'transfer.transaction': transaction })
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
