/** The sandbox's agent in registries of its own, at the addresses of the true ones, with some feedback to look at. */
import {
  decodeFunctionResult,
  encodeEventTopics,
  encodeFunctionData,
  padHex,
  parseAbi,
  type Address,
  type Hex,
} from 'viem'
import { z } from 'zod'
import { REGISTRIES, REGISTRY_ABI } from '../registry/contracts.ts'
import { install, sendAs } from './install.ts'
import { rpc } from './rpc.ts'

/** Nobody's address: the made-up client whose feedback the sandbox shows (docs/operations.md). */
export const REVIEWER = '0x000000000000000000000000000000000000fe1d'

const WRITE_ABI = parseAbi([
  'function register(string agentURI) returns (uint256 agentId)',
  'function setAgentURI(uint256 agentId, string newURI)',
  'function giveFeedback(uint256 agentId, int128 value, uint8 valueDecimals, string tag1, string tag2, string endpoint, string feedbackURI, bytes32 feedbackHash)',
  'function revokeFeedback(uint256 agentId, uint64 feedbackIndex)',
  'event Registered(uint256 indexed agentId, string agentURI, address indexed owner)',
])

/** In the ERC's own examples of tags. The second one is revoked afterwards. */
const FEEDBACK: [value: bigint, decimals: number, tag1: string, tag2: string][] = [
  [95n, 0, 'starred', 'lookup'],
  [20n, 0, 'starred', 'search'],
  [9977n, 2, 'uptime', 'day'],
]
const REVOKED = 2n
const NO_HASH = padHex('0x')

const Logs = z.array(z.object({ topics: z.tuple([z.string(), z.string(), z.string()]) }))

interface Registration {
  url: string
  owner: string
  agentUri: string
}

/** Finds the owner's agent or registers it, and has its URI lead here. May be repeated at every start. */
export async function registerAgent({ url, owner, agentUri }: Registration) {
  await install(url, REGISTRIES.identity, 'IdentityRegistry')
  await install(url, REGISTRIES.reputation, 'ReputationRegistry')
  await rpc(url, 'anvil_setStorageAt', REGISTRIES.reputation, padHex('0x'), padHex(REGISTRIES.identity))
  const agentId = (await findAgent(url, owner)) ?? (await register({ url, owner, agentUri }))
  const uri = encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'tokenURI', args: [agentId] })
  if (decode('tokenURI', await call(url, REGISTRIES.identity, uri)) !== agentUri) {
    const data = encodeFunctionData({ abi: WRITE_ABI, functionName: 'setAgentURI', args: [agentId, agentUri] })
    await sendAs({ url, from: owner, to: REGISTRIES.identity }, data)
  }
  await giveFeedback(url, agentId)
  return { agentId, owner }
}

async function register({ url, owner, agentUri }: Registration): Promise<bigint> {
  const data = encodeFunctionData({ abi: WRITE_ABI, functionName: 'register', args: [agentUri] })
  await sendAs({ url, from: owner, to: REGISTRIES.identity }, data)
  const agentId = await findAgent(url, owner)
  if (agentId === undefined) throw new Error("the sandbox's agent could not be registered")
  return agentId
}

/** The last agent that the owner has registered. */
async function findAgent(url: string, owner: string): Promise<bigint | undefined> {
  const topics = encodeEventTopics({ abi: WRITE_ABI, eventName: 'Registered', args: { owner: owner as Address } })
  const logs = Logs.parse(await rpc(url, 'eth_getLogs', { address: REGISTRIES.identity, fromBlock: '0x0', topics }))
  const [, agentId] = logs.at(-1)?.topics ?? []
  return agentId === undefined ? undefined : BigInt(agentId)
}

async function giveFeedback(url: string, agentId: bigint): Promise<void> {
  const last = encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'getLastIndex', args: [agentId, REVIEWER] })
  if (decode('getLastIndex', await call(url, REGISTRIES.reputation, last)) !== 0n) return
  const given = FEEDBACK.map(([value, decimals, tag1, tag2]) => {
    const args = [agentId, value, decimals, tag1, tag2, '', '', NO_HASH] as const
    return encodeFunctionData({ abi: WRITE_ABI, functionName: 'giveFeedback', args })
  })
  const revoked = encodeFunctionData({ abi: WRITE_ABI, functionName: 'revokeFeedback', args: [agentId, REVOKED] })
  await sendAs({ url, from: REVIEWER, to: REGISTRIES.reputation }, ...given, revoked)
}

async function call(url: string, to: Address, data: Hex): Promise<Hex> {
  return (await rpc(url, 'eth_call', { to, data }, 'latest')) as Hex
}

function decode(functionName: 'tokenURI' | 'getLastIndex', data: Hex): unknown {
  return decodeFunctionResult({ abi: REGISTRY_ABI, functionName, data })
}
