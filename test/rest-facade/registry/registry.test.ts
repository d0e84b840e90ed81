/** Results that are kept and shared, and what a read costs. The chain is real. */
import { expect } from 'chai'
import { DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { openRegistry, type Registry } from '../../../rest-facade/registry/registry.ts'
import { AddressBudgets, WEIGHTS } from '../../../agent/sale/limits/address-budget.ts'
import { testChainUrl } from '../../support/chain.ts'
import { makeClient } from '../../support/clients.ts'
import { startFaultProxy, type FaultProxy } from '../../support/fault-proxy.ts'
import { AGENT_URI, newAddress, newAgent } from '../../support/registries.ts'
import { neverTimer } from '../../support/timers.ts'

describe('the registry', () => {
  let proxy: FaultProxy
  let agentId: bigint
  let registry: Registry
  let time = 1

  const client = makeClient()
  const reviewer = newAddress()
  const kindOf = async (start: number, limit = 10, of = client) =>
    (await registry.page({ client: reviewer, start, limit }, of)).kind
  /** Each read sends two batches. */
  const reads = () => proxy.batches.length / 2

  before(async () => {
    proxy = await startFaultProxy(await testChainUrl())
    ;({ agentId } = await newAgent())
  })
  after(() => proxy.close())
  beforeEach(() => {
    proxy.batches.length = 0
    proxy.fail(undefined)
    const agent = { agentId, agentUri: AGENT_URI, chainId: DEPLOYMENTS.testnet.chainId }
    const services = { now: () => new Date(), clock: () => time, timer: neverTimer, report: () => undefined }
    registry = openRegistry({ url: proxy.url, ...agent, ...services })
  })

  it('keeps a page for 15 seconds by client, start and limit, and the identity too', async () => {
    await registry.identity(client)
    expect(await kindOf(1)).to.equal('read')
    time += 14_999
    await registry.identity(client)
    expect(await kindOf(1)).to.equal('read')
    expect(reads()).to.equal(2)
    await kindOf(1, 9)
    await kindOf(2)
    expect(reads()).to.equal(4)
    time += 2
    await registry.identity(client)
    await kindOf(1)
    expect(reads()).to.equal(6)
  })

  it('does not keep a failure', async () => {
    proxy.fail(({ response }) => void response.destroy())
    expect(await kindOf(1)).to.equal('unread')
    proxy.fail(undefined)
    expect(await kindOf(1)).to.equal('read')
  })

  it('reads once for concurrent requests', async () => {
    const kinds = await Promise.all(Array.from({ length: 20 }, () => kindOf(1)))
    expect(new Set(kinds)).to.deep.equal(new Set(['read']))
    expect(reads()).to.equal(1)
  })

  it('takes the cost of a read from the budget of the client, and nothing for a result that it has', async () => {
    const poor = makeClient('192.0.2.1', new AddressBudgets({ perMinute: 2 * WEIGHTS.remoteCall, clock: () => 0 }))
    for (const start of [1, 1, 2, 2]) expect(await kindOf(start, 10, poor)).to.equal('read')
    expect(await kindOf(3, 10, poor)).to.equal('busy')
    expect(reads()).to.equal(2)
    expect(await kindOf(3, 10, makeClient('192.0.2.2'))).to.equal('read')
  })
})
