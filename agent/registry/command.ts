/**
 * The command `registry`: what a running service knows of its place in the registries, and the call with which an
 * operator registers it from a wallet of his own. No key is ever asked for.
 */
import { parseArgs } from 'node:util'
import { encodeFunctionData, parseAbi } from 'viem'
import { z } from 'zod'
import { REGISTRIES } from './contracts.ts'
import { printable } from './untrusted.ts'

const USAGE = `usage: registry show [--url URL]   what a running service says of its identity
       registry register          the call that registers the service, to be sent from a wallet`

const EXIT_DONE = 0
const EXIT_FAILED = 1
const EXIT_USAGE = 2

const SHOW_MS_MAX = 10_000

const REGISTER_ABI = parseAbi(['function register(string agentURI) returns (uint256 agentId)'])

export interface RegistryTerminal {
  args: string[]
  print: (line: string) => void
  fetch: typeof fetch
  network: string
  /** Where the service is reached, and whether that was configured. */
  baseUrl: string
  isPublic: boolean
  /** What the agent's URI has to be. */
  agentUri: string
}

export async function registryCommand(terminal: RegistryTerminal): Promise<number> {
  const { positionals, values } = readArgs(terminal.args)
  const [name, ...more] = positionals
  if (name === 'show' && more.length === 0) return show(terminal, values.url ?? terminal.baseUrl)
  if (name === 'register' && more.length === 0 && values.url === undefined) return register(terminal)
  terminal.print(USAGE)
  return EXIT_USAGE
}

/** Nothing is asked for where an argument isn't ours. */
function readArgs(args: string[]): { positionals: string[]; values: { url?: string } } {
  try {
    const { positionals, values } = parseArgs({ args, allowPositionals: true, options: { url: { type: 'string' } } })
    return { positionals, values: { ...values } }
  } catch {
    return { positionals: [], values: {} }
  }
}

const Text = z.string().nullable()
const Shown = z.object({
  status: z.string(),
  agent_id: Text,
  agent_registry: z.string(),
  reputation_registry: z.string(),
  owner: Text,
  agent_wallet: Text,
  agent_wallet_is_pay_to: z.boolean().nullable(),
  agent_uri: Text,
  agent_uri_matches: z.boolean().nullable(),
  registration_file: z.string(),
  checked_at: Text,
})
const Refused = z.object({ error: z.object({ code: z.string() }) })

async function show({ fetch: send, print }: RegistryTerminal, url: string): Promise<number> {
  const signal = AbortSignal.timeout(SHOW_MS_MAX)
  const response = await send(`${url.replace(/\/$/, '')}/agent.json`, { signal, redirect: 'error' }).catch(() => null)
  if (!response) {
    print('no service answers there; is it running?')
    return EXIT_FAILED
  }
  const body: unknown = await response.json().catch(() => null)
  const shown = Shown.safeParse(body)
  if (!response.ok || !shown.success) {
    const refused = Refused.safeParse(body)
    print(
      refused.success ? `refused: ${printable(refused.data.error.code)}` : 'that is not what /agent.json looks like',
    )
    return EXIT_FAILED
  }
  for (const [name, value] of Object.entries(shown.data)) print(`${name.padEnd(23)} ${printable(String(value ?? '-'))}`)
  return EXIT_DONE
}

async function register({ print, network, isPublic, agentUri }: RegistryTerminal): Promise<number> {
  print(`network   ${network}`)
  print(`to        ${REGISTRIES.identity}`)
  print('value     0')
  print('function  register(string agentURI)')
  print(`agentURI  ${agentUri}`)
  print(`calldata  ${encodeFunctionData({ abi: REGISTER_ABI, functionName: 'register', args: [agentUri] })}`)
  print('')
  print(
    'Send it from the wallet that is to own the agent. The number is agentId in the event Registered, and may be 0;',
  )
  print('set ERC8004_AGENT_ID to it and ERC8004_OWNER to the wallet, and start the service again.')
  if (!isPublic) print('BASE_URL is not set: nobody else reaches this URI.')
  return EXIT_DONE
}
