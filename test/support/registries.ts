/** ERC-8004 registries on the test chain, agents and feedback in them, and the registry routes on a free port. */
import { createServer } from 'node:http'
import express from 'express'
import { encodeFunctionData, padHex, stringToHex, type Hex } from 'viem'
import { MULTICALL } from '../../agent/settlement/chain/multicall.ts'
import { REGISTRIES } from '../../rest-facade/registry/reader.ts'
import { installContract, sendAs } from '../../agent/sandbox/contracts.ts'
import { registerAgent } from '../../agent/sandbox/registries.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { openChain } from '../../agent/settlement/chain/chain.ts'
import type { Timer } from '../../base/runtime.ts'
import { TESTNET_PATHS } from '../../agent/operation/endpoints.ts'
import { addRoute } from '../../rest-facade/add-route.ts'
import { registryHandlers } from '../../rest-facade/registry.ts'
import type { Clients } from '../../agent/transport/http/connections.ts'
import { makeClients } from './clients.ts'
import { testChainUrl } from './chain.ts'
import { listen } from './listen.ts'
import { compiled } from './sandbox-chain.ts'
import { send } from './raw-http.ts'
import { neverTimer } from './timers.ts'

const BASE_URL = 'https://companies.example'
export const AGENT_URI = `${BASE_URL}/.well-known/agent-registration.json`

let addresses = 0

/** An address that no other test uses. It contains letters, so its case can change. */
export function newAddress(): Hex {
  addresses += 1
  return `0xabcdef${process.pid.toString(16).padStart(8, '0')}${addresses.toString(16).padStart(26, '0')}`
}

/** Registers an agent of a new owner. The first agent of a chain has id 0. */
export async function newAgent(agentUri = AGENT_URI) {
  const url = await testChainUrl()
  const owner = newAddress()
  await installContract(url, MULTICALL, 'Multicall')
  return { url, owner, agentId: await registerAgent({ url, owner, agentUri }) }
}

export async function giveFeedback(agentId: bigint, client: Hex, ...feedback: Partial<GivenFeedback>[]): Promise<void> {
  const calls = feedback.map(({ value = 1n, decimals = 0, tag1 = '', tag2 = '' }) => {
    return [agentId, value, decimals, tag1, tag2, 'https://endpoint.example', 'ipfs://x', padHex('0x')]
  })
  await callReputation(client, 'giveFeedback', calls)
}

interface GivenFeedback {
  value: bigint
  decimals: number
  tag1: string
  tag2: string
}

export async function revokeFeedback(agentId: bigint, client: Hex, index: bigint): Promise<void> {
  await callReputation(client, 'revokeFeedback', [[agentId, index]])
}

async function callReputation(from: Hex, functionName: string, calls: unknown[][]): Promise<void> {
  const { abi } = await compiled('agent/sandbox/contracts/ReputationRegistry.json')
  const data = calls.map((args) => encodeFunctionData({ abi, functionName, args }))
  await sendAs({ url: await testChainUrl(), from, to: REGISTRIES.reputation }, ...data)
}

/** Replaces a string in calldata by bytes of the same length, which need not be UTF-8. */
export function withBytes(calldata: Hex, text: string, bytes: Hex): Hex {
  return calldata.replace(stringToHex(text).slice(2), bytes.slice(2)) as Hex
}

interface RegistryServiceOptions {
  /** The JSON-RPC URL of the chain or of a proxy, or several. */
  url: string | string[]
  agentId: bigint
  payTo?: string
  clients?: Clients
  timer?: Timer
  clock?: () => number
}

/** Serves the three routes. `reports` has the log event and the code of its cause. */
export async function serveRegistry({
  url: chainUrl,
  agentId,
  payTo = newAddress(),
  clients = makeClients(),
  timer = neverTimer,
  clock = () => performance.now(),
}: RegistryServiceOptions) {
  const reports: string[] = []
  const report = (event: string, cause: unknown) => void reports.push(`${event} ${(cause as { code: string }).code}`)
  const now = () => new Date()
  const chain = openChain({ urls: [chainUrl].flat(), chainId: DEPLOYMENTS.testnet.chainId, now })
  const registry = { chain, agentId, clock }
  const runtime = { now, timer, report }
  const handlers = registryHandlers({ registry, clients, baseUrl: BASE_URL, payTo, a2aEnabled: true, ...runtime })
  const app = express().set('query parser', false)
  for (const name of ['registrationFile', 'registryIdentity', 'reputation'] as const)
    addRoute(app, { allow: 'GET, HEAD', path: TESTNET_PATHS[name] }, handlers[name])
  const server = await listen(createServer(app))
  const { url } = server
  return {
    url,
    reports,
    get: (path: string, method = 'GET') => send({ url, path, method }),
    async close() {
      server.close()
    },
  }
}

export type ServedRegistry = Awaited<ReturnType<typeof serveRegistry>>
