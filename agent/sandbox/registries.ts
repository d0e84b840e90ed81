/** Registers the sandbox's agent in local ERC-8004 registries at the public addresses, with three sample feedbacks. */
import { encodeFunctionData, padHex, parseAbi, stringToHex, type Address } from 'viem'
import { REGISTRIES, REGISTRY_ABI } from '../../rest-facade/registry/reader.ts'
import { installContract, openLocalClient, sendAs } from './contracts.ts'

/** The made-up client that gives the sample feedback (docs/operations.md). */
export const REVIEWER = '0x000000000000000000000000000000000000fe1d'

const WRITE_ABI = parseAbi([
  'function register(string agentURI) returns (uint256 agentId)',
  'function setAgentURI(uint256 agentId, string newURI)',
  'function giveFeedback(uint256 agentId, int128 value, uint8 valueDecimals, string tag1, string tag2, string endpoint, string feedbackURI, bytes32 feedbackHash)',
  'function revokeFeedback(uint256 agentId, uint64 feedbackIndex)',
  'event Registered(uint256 indexed agentId, string agentURI, address indexed owner)',
])

/** The tags are examples of ERC-8004. The second feedback is revoked. */
const FEEDBACK: [value: bigint, decimals: number, tag1: string, tag2: string][] = [
  [95n, 0, 'starred', 'lookup'],
  [20n, 0, 'starred', 'search'],
  [9977n, 2, 'uptime', 'day'],
]
const REVOKED_INDEX = 2n
const NO_HASH = padHex('0x')

/** Finds or registers the agent of the owner, sets its URI, and returns its id. Runs at every start. */
export async function registerAgent({ url, owner, agentUri }: { url: string; owner: string; agentUri: string }) {
  const client = openLocalClient(url)
  const { identity, reputation } = REGISTRIES
  const asOwner = { url, from: owner, to: identity }
  await installContract(url, identity, 'IdentityRegistry')
  await installContract(url, reputation, 'ReputationRegistry')
  // The first storage slot of the reputation registry holds the address of the identity registry.
  await client.setStorageAt({ address: reputation, index: padHex('0x'), value: padHex(identity) })
  let agentId = await findAgent(url, owner)
  if (agentId === undefined) {
    const data = encodeFunctionData({ abi: WRITE_ABI, functionName: 'register', args: [agentUri] })
    await sendAs(asOwner, data)
    agentId = await findAgent(url, owner)
  }
  if (agentId === undefined) throw new Error('The agent of the sandbox could not be registered')
  const token = { address: identity, abi: REGISTRY_ABI, functionName: 'tokenURI', args: [agentId] } as const
  if ((await client.readContract(token)) !== stringToHex(agentUri)) {
    const data = encodeFunctionData({ abi: WRITE_ABI, functionName: 'setAgentURI', args: [agentId, agentUri] })
    await sendAs(asOwner, data)
  }
  await giveFeedback(url, agentId)
  return agentId
}

/** Returns the last agent that the owner registered. */
async function findAgent(url: string, owner: string): Promise<bigint | undefined> {
  const registered = { address: REGISTRIES.identity, abi: WRITE_ABI, eventName: 'Registered' } as const
  const filter = { ...registered, args: { owner: owner as Address }, fromBlock: 0n, strict: true } as const
  return (await openLocalClient(url).getContractEvents(filter)).at(-1)?.args.agentId
}

/** Gives the sample feedback, unless the agent has it already. */
async function giveFeedback(url: string, agentId: bigint): Promise<void> {
  const { reputation } = REGISTRIES
  const last = { abi: REGISTRY_ABI, functionName: 'getLastIndex', args: [agentId, REVIEWER] } as const
  if ((await openLocalClient(url).readContract({ ...last, address: reputation })) !== 0n) return
  const given = FEEDBACK.map(([value, decimals, tag1, tag2]) => {
    const args = [agentId, value, decimals, tag1, tag2, '', '', NO_HASH] as const
    return encodeFunctionData({ abi: WRITE_ABI, functionName: 'giveFeedback', args })
  })
  const revoked = encodeFunctionData({ abi: WRITE_ABI, functionName: 'revokeFeedback', args: [agentId, REVOKED_INDEX] })
  await sendAs({ url, from: REVIEWER, to: reputation }, ...given, revoked)
}
