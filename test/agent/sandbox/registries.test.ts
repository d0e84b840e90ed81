/**
 * The local registries follow ERC-8004 in the used functions, and the agent of the sandbox is the same at each start.
 */
import { expect } from 'chai'
import { padHex, type Abi } from 'viem'
import { REGISTRIES } from '../../../rest-facade/registry/contracts.ts'
import { registerAgent, REVIEWER } from '../../../agent/sandbox/registries.ts'
import { giveFeedback, newAddress, newAgent, revokeFeedback } from '../../support/registries.ts'
import { clientOf, compiled, refusalOf } from '../../support/sandbox-chain.ts'

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
  const isRefused = async (attempt: Promise<unknown>) => (await Promise.allSettled([attempt]))[0].status === 'rejected'

  it('register the agent once and update its URI', async () => {
    expect(await registerAgent({ ...agent, agentUri: URI })).to.equal(agent.agentId)
    const { ofIdentity, ofReputation } = reader(agent.url)
    expect(await ofIdentity('tokenURI', agent.agentId)).to.equal(URI)
    expect(await ofReputation('getLastIndex', agent.agentId, REVIEWER)).to.equal(3n)
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
})
