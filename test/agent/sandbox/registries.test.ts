/** The local registries follow ERC-8004 in the used functions, and the agent of the sandbox is the same at each start. */
import { expect } from 'chai'
import { encodeFunctionData, padHex, type Abi, type Hex } from 'viem'
import { REGISTRIES } from '../../../agent/registry/contracts.ts'
import { sendAs } from '../../../agent/sandbox/contracts.ts'
import { registerAgent, REVIEWER } from '../../../agent/sandbox/registries.ts'
import { giveFeedback, newAddress, newAgent, revokeFeedback } from '../../support/registries.ts'
import { clientOf, compiled, discard, openTestChain, refusalOf } from '../../support/sandbox-chain.ts'

const URI = 'https://companies.example/one.json'
const { identity, reputation } = REGISTRIES

describe('the sandbox’s registries', () => {
  let identityAbi: Abi
  let reputationAbi: Abi
  let agent: { url: string; agentId: bigint; owner: string }

  before(async () => {
    ;({ abi: identityAbi } = await compiled('agent/sandbox/contracts/IdentityRegistry.json'))
    ;({ abi: reputationAbi } = await compiled('agent/sandbox/contracts/ReputationRegistry.json'))
    agent = await newAgent()
  })

  const reader = (url: string) => {
    const client = clientOf(url, padHex('0x01'))
    return {
      ofIdentity: (functionName: string, ...args: unknown[]) =>
        client.readContract({ address: identity, abi: identityAbi, functionName, args }),
      ofReputation: (functionName: string, ...args: unknown[]) =>
        client.readContract({ address: reputation, abi: reputationAbi, functionName, args }),
    }
  }
  const change = (from: string, functionName: string, ...args: unknown[]) =>
    sendAs({ url: agent.url, from, to: identity }, encodeFunctionData({ abi: identityAbi, functionName, args }))
  const isRefused = async (attempt: Promise<unknown>) => (await Promise.allSettled([attempt]))[0].status === 'rejected'

  it('are linked at the public addresses, with an agent and three feedbacks, one of them revoked', async () => {
    const { ofIdentity, ofReputation } = reader(agent.url)
    expect(await ofReputation('getIdentityRegistry')).to.equal(identity)
    expect(await ofIdentity('ownerOf', agent.agentId)).to.match(new RegExp(agent.owner, 'i'))
    expect(await ofReputation('getLastIndex', agent.agentId, REVIEWER)).to.equal(3n)
    for (const [index, isRevoked] of [false, true, false].entries()) {
      const feedback = await ofReputation('readFeedback', agent.agentId, REVIEWER, BigInt(index) + 1n)
      expect((feedback as unknown[])[4]).to.equal(isRevoked)
    }
  })

  it('register the agent once and update its URI', async () => {
    const again = await registerAgent({ ...agent, agentUri: URI })
    expect(again.agentId).to.equal(agent.agentId)
    const { ofIdentity, ofReputation } = reader(agent.url)
    expect(await ofIdentity('tokenURI', agent.agentId)).to.equal(URI)
    expect(await ofReputation('getLastIndex', agent.agentId, REVIEWER)).to.equal(3n)
  })

  it('are kept when the chain is stopped', async () => {
    const first = await openTestChain()
    const owner = newAddress()
    const { agentId } = await registerAgent({ url: first.chain.url, owner, agentUri: URI })
    expect(agentId).to.equal(0n)
    await first.chain.stop()
    const second = await openTestChain(first.directory)
    expect((await registerAgent({ url: second.chain.url, owner, agentUri: URI })).agentId).to.equal(0n)
    expect(await reader(second.chain.url).ofReputation('getLastIndex', 0n, REVIEWER)).to.equal(3n)
    await discard(second)
  })

  it('number feedback from 1 and refuse other indexes', async () => {
    const client = newAddress()
    const { ofReputation } = reader(agent.url)
    const read = (index: bigint) => refusalOf(ofReputation('readFeedback', agent.agentId, client, index))
    expect(await read(1n)).to.equal('index out of bounds')
    await giveFeedback(agent.agentId, client, { value: -5n, decimals: 18, tag1: 'a', tag2: 'b' })
    expect(await read(0n)).to.equal('index must be > 0')
    expect(await read(2n)).to.equal('index out of bounds')
    expect(await ofReputation('readFeedback', agent.agentId, client, 1n)).to.deep.equal([-5n, 18, 'a', 'b', false])
    await revokeFeedback(agent.agentId, client, 1n)
    expect(await ofReputation('readFeedback', agent.agentId, client, 1n)).to.deep.equal([-5n, 18, 'a', 'b', true])
    expect(await isRefused(revokeFeedback(agent.agentId, client, 1n))).to.equal(true)
  })

  it('refuse feedback from the owner and operators, for unknown agents, and with values out of range', async () => {
    const operator = newAddress()
    await change(agent.owner, 'setApprovalForAll', operator, true)
    const wrong: [bigint, Hex, Parameters<typeof giveFeedback>[2]][] = [
      [agent.agentId, agent.owner as Hex, {}],
      [agent.agentId, operator, {}],
      [agent.agentId + 1000n, newAddress(), {}],
      [agent.agentId, newAddress(), { decimals: 19 }],
      [agent.agentId, newAddress(), { value: 10n ** 38n + 1n }],
      [agent.agentId, newAddress(), { value: -(10n ** 38n) - 1n }],
    ]
    for (const [agentId, client, feedback = {}] of wrong)
      expect(await isRefused(giveFeedback(agentId, client, feedback))).to.equal(true)
  })

  it('let only the owner and operators change an agent, reset the wallet on a transfer, and know no other agent', async () => {
    const other = await newAgent()
    const { ofIdentity } = reader(agent.url)
    expect(await isRefused(change(newAddress(), 'setAgentURI', other.agentId, URI))).to.equal(true)
    expect(await isRefused(change(other.owner, 'setMetadata', other.agentId, 'agentWallet', '0x'))).to.equal(true)
    const next = newAddress()
    await change(other.owner, 'transferFrom', other.owner, next, other.agentId)
    expect(await ofIdentity('getAgentWallet', other.agentId)).to.equal(`0x${'0'.repeat(40)}`)
    expect(await ofIdentity('ownerOf', other.agentId)).to.match(new RegExp(next, 'i'))
    expect(await isRefused(change(other.owner, 'setAgentURI', other.agentId, URI))).to.equal(true)
    expect(await isRefused(ofIdentity('tokenURI', 9999n))).to.equal(true)
    expect(await ofIdentity('getAgentWallet', 9999n)).to.equal(`0x${'0'.repeat(40)}`)
  })
})
