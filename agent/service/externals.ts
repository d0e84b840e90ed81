/** Opens the configured remote services: the facilitator and the chain. */
import { privateKeyToAddress } from 'viem/accounts'
import { relayerFolder } from '../../store/files/layout.ts'
import { readPrivateFile } from '../../store/files/private-files.ts'
import { acquireProcessLock } from '../../store/files/process-lock.ts'
import type { Report } from '../../base/runtime.ts'
import { ConfigError, type Config } from './config.ts'
import { openChain, type Chain } from '../settlement/chain/chain.ts'
import { observeEach } from '../settlement/chain/reader.ts'
import { openFacilitators, type Facilitator } from '../settlement/facilitator/facilitator.ts'
import { FACILITATOR_MS_MAX } from '../settlement/rpc/time-limits.ts'
import { openRemoteFacilitator } from '../settlement/facilitator/remote-facilitator.ts'
import { openInProcessFacilitator } from '../settlement/facilitator/in-process-facilitator.ts'
import { WrongChain } from '../settlement/rpc/nodes.ts'
import { isPrivateKey, KEY_FILE_BYTES_MAX } from '../payment/accounts.ts'
import { DEPLOYMENTS } from '../payment/terms.ts'
import { openSandbox } from '../sandbox/sandbox.ts'
import type { createApp } from '../../rest-facade/app.ts'

/** The remote services. Tests pass their own. */
export interface Externals {
  facilitator: Facilitator
  chain: Chain
  payTo: string
  /** Only an in-process facilitator has a relayer. */
  settlementsLeft?: () => Promise<bigint>
  /** Only in a sandbox: registers the agent in the ERC-8004 registry when no identity is configured. */
  registerAgent?: (agentUri: string) => Promise<bigint>
  /** Only in a sandbox: the account that its page pays with. */
  sandboxAccount?: NonNullable<Parameters<typeof createApp>[0]['sandboxAccount']>
}

/** Base has a block time of two seconds. */
const POLLING_MS = 1_000

interface ExternalsOptions {
  config: Config
  now: () => Date
  report: Report
  /** Receives lines for the operator. */
  log: (line: string) => void
}

/** Returns the services, and the stdout lines that a buyer needs in the sandbox. Disposal stops the sandbox. */
export async function openExternals({ config, now, report, log }: ExternalsOptions) {
  const { facilitator: configured, mode } = config
  const onClockChange = (isWrong: boolean) => {
    if (isWrong) report('clock_wrong', 'the local clock differs from the newest block by more than a minute')
  }
  if (configured.kind === 'sandbox') {
    const { externals, rpcUrl, buyerKey, stop } = await openSandbox({ config, now, onClockChange, log })
    return { externals, lines: [`rpc ${rpcUrl}`, `buyer ${buyerKey}`], [Symbol.asyncDispose]: stop }
  }
  const { rpcUrls, payTo } = configured
  const deployment = DEPLOYMENTS[mode]
  const chain = openChain({ urls: rpcUrls, chainId: deployment.chainId, now, onClockChange })
  const observed = await observeEach(chain)
  const causes = observed.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  if (causes.some((cause) => cause instanceof WrongChain)) {
    const nodes = rpcUrls.length > 1 ? 'name nodes' : 'be a node'
    throw new ConfigError(`RPC_URL must ${nodes} of chain ${deployment.chainId} when MODE is ${mode}`)
  }
  // If no node answers, the service starts anyway: quotes do not need one, and it may recover.
  const shared = { chain, payTo }
  if (configured.kind === 'remote') {
    const facilitator = openRemoteFacilitators(configured.facilitators, report)
    return { externals: { facilitator, ...shared }, lines: [], [Symbol.asyncDispose]: async () => undefined }
  }
  const relayerKey = readRelayerKey(configured.relayerKeyFile)
  const lock = await lockRelayer(config.dataDirectory, relayerKey)
  const client = openInProcessFacilitator({ deployment, rpcUrls, relayerKey, pollingMs: POLLING_MS, report })
  // With a name, so that it never settles the payment of a remote one, and the other way round.
  const facilitator = openFacilitators([{ name: 'self', client }], report)
  const externals: Externals = { facilitator, settlementsLeft: () => client.settlementsLeft(), ...shared }
  return { externals, lines: [], [Symbol.asyncDispose]: () => lock[Symbol.asyncDispose]() }
}

type Remote = Parameters<typeof openRemoteFacilitator>[0]

export function openRemoteFacilitators(remotes: readonly Remote[], report: Report): Facilitator {
  // `verify` asks one after the other within the time of one call.
  const verifyTimeoutMs = FACILITATOR_MS_MAX / remotes.length
  return openFacilitators(
    remotes.map((remote) => ({ name: remote.url, client: openRemoteFacilitator({ ...remote, verifyTimeoutMs }) })),
    report,
  )
}

/** Two processes would give two transactions of one relayer the same nonce. */
async function lockRelayer(dataDirectory: string, relayerKey: `0x${string}`): Promise<AsyncDisposable> {
  const lock = await acquireProcessLock(relayerFolder(dataDirectory, privateKeyToAddress(relayerKey)))
  if (lock) return lock
  throw new ConfigError('RELAYER_KEY_FILE must hold a key that no other process of DATA_DIR uses')
}

export function readRelayerKey(path: string): `0x${string}` {
  const file = readPrivateFile(path, KEY_FILE_BYTES_MAX)
  if (file.kind === 'unreadable') throw new ConfigError('RELAYER_KEY_FILE must be a file that can be read')
  if (file.kind === 'open') throw new ConfigError('RELAYER_KEY_FILE must be readable by its owner only: chmod 600')
  const key = file.text.trim()
  if (!isPrivateKey(key)) throw new ConfigError('RELAYER_KEY_FILE must hold one private key: 0x and 64 hex digits')
  return key
}
