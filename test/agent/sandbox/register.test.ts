/** The sandbox's registries do what ERC-8004 says as far as we use it, and its agent is one and the same at every start. */
import { expect } from 'chai'
import { encodeFunctionData, padHex, type Abi, type Hex } from 'viem'
import { REGISTRIES } from '../../../agent/registry/contracts.ts'
import { sendAs } from '../../../agent/sandbox/install.ts'
import { registerAgent, REVIEWER } from '../../../agent/sandbox/register.ts'
import { rm } from 'node:fs/promises'
import { giveFeedback, newAddress, newAgent, revokeFeedback } from '../../support/registries.ts'
import { clientOf, compiled, newDirectory, openTestChain, refusalOf } from '../../support/sandbox-chain.ts'

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
  const isRefused = async (attempt: Promise<unknown>) =>
    attempt.then(
      () => false,
      () => true,
    )

  it('are linked, at the addresses of the true ones', async () => {
    expect(await reader(agent.url).ofReputation('getIdentityRegistry')).to.equal(identity)
  })

  it('show a newcomer an agent and three feedbacks, one of them revoked', async () => {
    const { ofIdentity, ofReputation } = reader(agent.url)
    expect(await ofIdentity('ownerOf', agent.agentId)).to.match(new RegExp(agent.owner, 'i'))
    expect(await ofReputation('getLastIndex', agent.agentId, REVIEWER)).to.equal(3n)
    const revoked = await Promise.all(
      [1n, 2n, 3n].map(async (index) => {
        const feedback = (await ofReputation('readFeedback', agent.agentId, REVIEWER, index)) as unknown[]
        return feedback[4]
      }),
    )
    expect(revoked).to.deep.equal([false, true, false])
  })

  it('have the agent once, however often it is asked for, and its URI follows', async () => {
    const again = await registerAgent({ ...agent, agentUri: URI })
    expect(again.agentId).to.equal(agent.agentId)
    const { ofIdentity, ofReputation } = reader(agent.url)
    expect(await ofIdentity('tokenURI', agent.agentId)).to.equal(URI)
    expect(await ofReputation('getLastIndex', agent.agentId, REVIEWER)).to.equal(3n)
  })

  it('outlive a stop of the chain', async () => {
    const directory = await newDirectory()
    const first = await openTestChain(directory)
    const owner = newAddress()
    const { agentId } = await registerAgent({ url: first.chain.url, owner, agentUri: URI })
    expect(agentId).to.equal(0n)
    await first.chain.stop()
    const second = await openTestChain(directory)
    expect((await registerAgent({ url: second.chain.url, owner, agentUri: URI })).agentId).to.equal(0n)
    expect(await reader(second.chain.url).ofReputation('getLastIndex', 0n, REVIEWER)).to.equal(3n)
    await second.chain.stop()
    await rm(directory, { recursive: true })
  })

  it('number feedback from 1 and refuse what is before and behind', async () => {
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

  it('refuse feedback of the owner and of operators, on agents that are not there, and beyond the bounds', async () => {
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

  it('let only the owner and operators change an agent, and a new owner start without a wallet', async () => {
    const other = await newAgent()
    const { ofIdentity } = reader(agent.url)
    expect(await isRefused(change(newAddress(), 'setAgentURI', other.agentId, URI))).to.equal(true)
    expect(await isRefused(change(other.owner, 'setMetadata', other.agentId, 'agentWallet', '0x'))).to.equal(true)
    const next = newAddress()
    await change(other.owner, 'transferFrom', other.owner, next, other.agentId)
    expect(await ofIdentity('getAgentWallet', other.agentId)).to.equal(`0x${'0'.repeat(40)}`)
    expect(await ofIdentity('ownerOf', other.agentId)).to.match(new RegExp(next, 'i'))
    expect(await isRefused(change(other.owner, 'setAgentURI', other.agentId, URI))).to.equal(true)
  })

  it('say of an agent that is not there nothing but its number', async () => {
    const { ofIdentity } = reader(agent.url)
    expect(await isRefused(ofIdentity('tokenURI', 9999n))).to.equal(true)
    expect(await ofIdentity('getAgentWallet', 9999n)).to.equal(`0x${'0'.repeat(40)}`)
  })
})
