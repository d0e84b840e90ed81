/** The transfers of many payments, found in the logs of nodes with different limits. */
import { expect } from 'chai'
import type { Hex } from 'viem'
import { keyOf, TransferSearch, type PaymentQuery } from '../../../../agent/settlement/chain/find-transfers.ts'
import { nonceKey } from '../../../../agent/settlement/chain/token.ts'
import { RpcError, type Rpc } from '../../../../agent/settlement/rpc/json-rpc.ts'
import { DOMAIN } from '../../../support/eip3009.ts'
import { replyTo, showLedger } from '../../../support/remotes/chain-node.ts'
import { Ledger } from '../../../support/remotes/ledger.ts'
import { BUYER, RECEIVER } from '../../../support/records.ts'

const PAYMENTS = 40
const BLOCKS = 4
const nonceOf = (index: number): Hex => `0x${(index + 1).toString(16).padStart(64, '0')}`

describe('the transfers of many payments', () => {
  let ledger: Ledger
  let newest: number
  let calls: number
  let queries: PaymentQuery[]

  beforeEach(() => {
    ledger = new Ledger({ unfinalBlocks: 1 })
    newest = ledger.newest
    calls = 0
    queries = Array.from({ length: PAYMENTS }, (_, index) => ({
      ...nonceKey(DOMAIN.verifyingContract, { from: BUYER, nonce: nonceOf(index) }),
      receiver: RECEIVER,
      fromBlock: BigInt(newest - 40),
      toBlock: BigInt(newest),
    }))
  })

  const pay = (index: number, change: { from?: string; to?: string } = {}) => {
    const authorization = { from: BUYER, to: RECEIVER, value: '1000', validAfter: '0', validBefore: '9', ...change }
    ledger.transfer({ ...authorization, nonce: nonceOf(index) }, newest - (index % BLOCKS))
  }

  /** A node that refuses some searches. */
  const nodeWith = ({ blocks = Infinity, nonces = Infinity }): Rpc => {
    return async (method, params = []) => {
      calls += 1
      const { fromBlock, toBlock, topics } = params[0] as { fromBlock: string; toBlock: string; topics: unknown[] }
      if (Number(toBlock) - Number(fromBlock) >= blocks) throw new RpcError({ code: -32_000, message: 'too wide' })
      if ([topics[2]].flat().length > nonces) throw new RpcError({ code: -32_000, message: 'too many topics' })
      return replyTo(showLedger(ledger, newest), method, params)
    }
  }

  it('are found with two calls', async () => {
    queries.forEach((_, index) => pay(index))
    const found = await new TransferSearch().find(nodeWith({}), queries)
    expect([...found.keys()]).to.have.members(queries.map(keyOf))
    expect(found.get(keyOf(queries[1] as PaymentQuery))?.transfer).to.deep.include({ to: RECEIVER, value: 1000n })
    expect(calls).to.equal(2)
  })

  it('are found on a node that limits ranges of blocks', async () => {
    queries.forEach((_, index) => pay(index))
    const found = await new TransferSearch().find(nodeWith({ blocks: 10 }), queries)
    expect(found.size).to.equal(PAYMENTS)
  })

  it('are found with fewer nonces after a node has refused many', async () => {
    queries.forEach((_, index) => pay(index))
    const search = new TransferSearch()
    const node = nodeWith({ nonces: 500 })
    const many = Array.from({ length: 1_000 }, (_, index) => ({
      ...(queries[0] as PaymentQuery),
      nonce: nonceOf(index),
    }))
    expect((await search.find(node, many)).size).to.equal(PAYMENTS)
    calls = 0
    await search.find(node, many)
    expect(calls).to.equal(3)
  })

  it('are searched with all nonces after an outage, and once if the node is slow', async () => {
    queries.forEach((_, index) => pay(index))
    const search = new TransferSearch()
    const slow: Rpc = () => ((calls += 1), Promise.reject(Object.assign(new Error('slow'), { name: 'TimeoutError' })))
    const failing: Rpc = () => Promise.reject(new RpcError({ code: -32_603, message: 'internal error' }))
    for (let time = 0; time < 10; time += 1) await search.find(slow, queries).catch(() => undefined)
    expect(calls).to.equal(10)
    for (let time = 0; time < 10; time += 1) await search.find(failing, queries).catch(() => undefined)
    const counts: number[] = []
    const node: Rpc = (method, params = []) => {
      counts.push([(params[0] as { topics: unknown[] }).topics[2]].flat().length)
      return nodeWith({})(method, params)
    }
    await search.find(node, queries)
    expect(counts[0]).to.equal(PAYMENTS)
  })

  it('are those that follow the use of the nonce, of this payer and to this receiver', async () => {
    const other = '0x00000000000000000000000000000000000000d3'
    pay(0)
    pay(1, { to: other })
    pay(2, { from: other })
    const found = await new TransferSearch().find(nodeWith({}), queries.slice(0, 4))
    expect(queries.filter((query) => found.has(keyOf(query)))).to.deep.equal(queries.slice(0, 1))
  })

  it('are not decided by a node that cannot be read', async () => {
    const failing: Rpc = () => Promise.reject(new TypeError('no node'))
    const outcome = await new TransferSearch().find(failing, queries).catch((error: unknown) => error)
    expect(outcome).to.be.instanceOf(TypeError)
  })
})
