/** The actions of the command `registry`. None of them needs a private key. */
import { encodeFunctionData, parseAbi } from 'viem'
import * as z from 'zod'
import { TESTNET_PATHS } from '../../agent/operation/endpoints.ts'
import { fetchText, type Fetch } from '../../store/base/bounded-fetch.ts'
import { parseJson } from '../../store/base/read-body.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { REGISTRIES } from './contracts.ts'

const REGISTER_ABI = parseAbi(['function register(string agentURI) returns (uint256 agentId)'])

const agentFileSchema = z.looseObject({ status: z.string(), checked_at: z.string().nullable() })
const errorSchema = z.object({ error: z.object({ code: z.string() }) })

/** Prints what a running service reports about its identity. Returns false if it reports none. */
export async function showRegistration(url: string, send: Fetch, print: (line: string) => void): Promise<boolean> {
  const answer = await fetchText(send, `${url}${TESTNET_PATHS.registryIdentity}`).catch(() => null)
  if (!answer) {
    print('the service does not answer; check that it is running')
    return false
  }
  const json = parseJson(answer.text)
  const agentFile = agentFileSchema.safeParse(json)
  if (!answer.response.ok || !agentFile.success) {
    const error = errorSchema.safeParse(json)
    print(error.success ? `refused: ${error.data.error.code}` : 'the reply is not a valid /agent.json')
    return false
  }
  const { block: _, ...shown } = agentFile.data
  for (const [name, value] of Object.entries(shown)) print(`${name.padEnd(23)} ${toText(value)}`)
  return true
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : value === null ? '-' : JSON.stringify(value)
}

export function printRegistrationCall(url: string, isPublic: boolean, print: (line: string) => void): void {
  const agentUri = `${url}${TESTNET_PATHS.registrationFile}`
  print(`network   ${DEPLOYMENTS.testnet.network}`)
  print(`to        ${REGISTRIES.identity}`)
  print('value     0')
  print('function  register(string agentURI)')
  print(`agentURI  ${agentUri}`)
  print(`calldata  ${encodeFunctionData({ abi: REGISTER_ABI, functionName: 'register', args: [agentUri] })}`)
  print('')
  print(
    'Send this transaction from the wallet that will own the agent. The event Registered contains agentId, which may be 0.',
  )
  print('Set ERC8004_AGENT_ID to agentId, and restart the service.')
  if (!isPublic) print('BASE_URL is not set: other hosts cannot reach this URI.')
}
