/** The sandbox's registries on the tests' chain, agents and feedback on them, and our routes about them on a free port. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import express from 'express'
import { encodeFunctionData, padHex, stringToHex, type Hex } from 'viem'
import { DEPLOYMENTS } from '../../agent/payments/terms.ts'
import { REGISTRIES } from '../../agent/registry/contracts.ts'
import type { Timer } from '../../agent/registry/deadline.ts'
import { openRegistry, type Registry } from '../../agent/registry/registry.ts'
import { sendAs } from '../../agent/sandbox/install.ts'
import { registerAgent } from '../../agent/sandbox/register.ts'
import { registryRoutes } from '../../rest-facade/registry.ts'
import { testChainUrl } from './chain.ts'
import { compiled } from './sandbox-chain.ts'
import { send } from './raw-http.ts'

const { chainId, network } = DEPLOYMENTS.testnet

export const BASE_URL = 'https://companies.example'
export const AGENT_URI = `${BASE_URL}/.well-known/agent-registration.json`

let addresses = 0

/** An address that no other test uses; it has letters, so that its case can be changed. */
export function newAddress(): Hex {
  addresses += 1
  return `0xabcdef${process.pid.toString(16).padStart(8, '0')}${addresses.toString(16).padStart(26, '0')}`
}

/** An agent of a new owner. The first one of a chain has the number 0. */
export async function newAgent(agentUri = AGENT_URI) {
  const url = await testChainUrl()
  const owner = newAddress()
  return { url, ...(await registerAgent({ url, owner, agentUri })) }
}

export async function giveFeedback(agentId: bigint, client: Hex, ...feedback: Partial<GivenFeedback>[]): Promise<void> {
  const { abi } = await compiled('agent/sandbox/contracts/ReputationRegistry.json')
  const calls = feedback.map(({ value = 1n, decimals = 0, tag1 = '', tag2 = '' }) => {
    const args = [agentId, value, decimals, tag1, tag2, 'https://endpoint.example', 'ipfs://x', padHex('0x')]
    return encodeFunctionData({ abi, functionName: 'giveFeedback', args })
  })
  await sendAs({ url: await testChainUrl(), from: client, to: REGISTRIES.reputation }, ...calls)
}

interface GivenFeedback {
  value: bigint
  decimals: number
  tag1: string
  tag2: string
}

export async function revokeFeedback(agentId: bigint, client: Hex, index: bigint): Promise<void> {
  const { abi } = await compiled('agent/sandbox/contracts/ReputationRegistry.json')
  const data = encodeFunctionData({ abi, functionName: 'revokeFeedback', args: [agentId, index] })
  await sendAs({ url: await testChainUrl(), from: client, to: REGISTRIES.reputation }, data)
}

/** The calldata with one text in it replaced by bytes of the same length, which need not be UTF-8. */
export function withBytes(calldata: Hex, text: string, bytes: Hex): Hex {
  return calldata.replace(stringToHex(text).slice(2), bytes.slice(2)) as Hex
}

/** Nothing is ever late, and nothing is read again by itself. */
export const never: Timer = () => () => undefined

/** A timer whose time is over when the test says so. */
export function manualTimer() {
  const waiting = new Map<() => void, number>()
  const timer: Timer = (callback, milliseconds) => {
    waiting.set(callback, milliseconds)
    return () => void waiting.delete(callback)
  }
  return {
    timer,
    /** Milliseconds that somebody waits for. */
    times: () => [...waiting.values()],
    /** Ends every wait of at most so many milliseconds. */
    pass: (milliseconds: number) => {
      const due = [...waiting].filter(([, time]) => time <= milliseconds)
      for (const [callback] of due) waiting.delete(callback)
      for (const [callback] of due) callback()
    },
  }
}

interface HouseRequest {
  /** JSON-RPC of the chain, or of what stands before it. */
  url: string
  agentId: bigint
  owner?: string | undefined
  payTo?: string
  timer?: Timer
  now?: () => Date
  a2aEnabled?: boolean
}

/** The three routes by HTTP, on a registry that was read once. */
export async function openHouse({
  owner,
  payTo = newAddress(),
  timer = never,
  now = () => new Date(),
  a2aEnabled = true,
  ...chain
}: HouseRequest) {
  const reports: string[] = []
  const report = (event: string, cause: unknown) => void reports.push(`${event} ${(cause as Error).message}`)
  const opening = { ...chain, owner, chainId, agentUri: AGENT_URI, fetch, now, random: () => 0.5, timer, report }
  const registry = await openRegistry(opening)
  return { registry, reports, ...(await serveRoutes({ registry, payTo, now, a2aEnabled })) }
}

interface RoutesRequest {
  registry: Registry
  payTo?: string
  now?: () => Date
  a2aEnabled?: boolean
}

export async function serveRoutes({
  registry,
  payTo = newAddress(),
  now = () => new Date(),
  a2aEnabled = true,
}: RoutesRequest) {
  const routes = registryRoutes({ registry, baseUrl: BASE_URL, network, payTo, a2aEnabled, now })
  const server = createServer(express().set('query parser', false).use(routes)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    get: (path: string, method = 'GET') => send({ url, path, method }),
    async close() {
      registry.stop()
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}

export type House = Awaited<ReturnType<typeof openHouse>>
