/** The doors to the outside as they are configured: who settles payments, which node tells what became of them, who is paid. */
import { open } from 'node:fs/promises'
import { ConfigError, type Config } from './config.ts'
import { openChain, type Chain } from './payments/chain.ts'
import { openInProcessFacilitator } from './payments/in-process-facilitator.ts'
import { WrongChain } from './payments/json-rpc.ts'
import { isPrivateKey } from './payments/receiver.ts'
import { openRemoteFacilitator } from './payments/remote-facilitator.ts'
import { DEPLOYMENTS } from './payments/terms.ts'
import { openSandbox } from './sandbox/sandbox.ts'
import type { Doors } from './service.ts'

/** Base makes a block every two seconds. */
const POLLING_MS = 1_000
/** A key and a line end; anything larger is something else. */
const KEY_FILE_BYTES_MAX = 128
/** Any permission of group or others. */
const OPEN_TO_OTHERS_MASK = 0o077

export interface OpenDoors {
  doors: Doors
  /** What a buyer in the sandbox needs to know, for stdout. */
  lines: string[]
  stop(): Promise<void>
}

interface Surroundings {
  config: Config
  now: () => Date
  report: (event: string, cause: unknown) => void
  /** Told in plain words what an operator should know. */
  log: (line: string) => void
}

export async function openDoors({ config, now, report, log }: Surroundings): Promise<OpenDoors> {
  const { facilitator: configured, mode } = config
  if (configured.kind === 'sandbox') {
    const { doors, rpcUrl, buyerKey, stop } = await openSandbox({ config, log })
    return { doors, lines: [`rpc ${rpcUrl}`, `buyer ${buyerKey}`], stop }
  }
  const { rpcUrl, payTo } = configured
  const deployment = DEPLOYMENTS[mode]
  const registry = { rpcUrl }
  const chain = openChain({ url: rpcUrl, chainId: deployment.chainId })
  await checkChain(chain, { mode, report })
  if (configured.kind === 'remote') {
    const { url, authorization } = configured
    const facilitator = openRemoteFacilitator({ url, authorization: () => authorization })
    return { doors: { facilitator, chain, payTo, registry }, lines: [], stop: async () => undefined }
  }
  const relayerKey = await readRelayerKey(configured.relayerKeyFile)
  const facilitator = openInProcessFacilitator({ deployment, rpcUrl, relayerKey, pollingMs: POLLING_MS, now, report })
  return { doors: { facilitator, chain, payTo, registry }, lines: [], stop: async () => undefined }
}

/** A wrong chain stops the start. A node that is away does not: quotes don't need it, and it may come back. */
async function checkChain(chain: Chain, { mode, report }: Pick<Config, 'mode'> & Pick<Surroundings, 'report'>) {
  try {
    await chain.head()
  } catch (cause) {
    if (cause instanceof WrongChain) {
      throw new ConfigError(`RPC_URL must be a node of chain ${DEPLOYMENTS[mode].chainId} when MODE is ${mode}`)
    }
    report('chain_unavailable', cause)
  }
}

async function readRelayerKey(path: string): Promise<`0x${string}`> {
  const file = await open(path, 'r').catch(() => {
    throw new ConfigError('RELAYER_KEY_FILE must be a file that can be read')
  })
  try {
    const { mode } = await file.stat()
    if (process.platform !== 'win32' && (mode & OPEN_TO_OTHERS_MASK) !== 0) {
      throw new ConfigError('RELAYER_KEY_FILE must be readable by its owner only: chmod 600')
    }
    const { buffer, bytesRead } = await file.read(Buffer.alloc(KEY_FILE_BYTES_MAX), 0, KEY_FILE_BYTES_MAX, 0)
    const key = buffer.toString('latin1', 0, bytesRead).trim()
    if (!isPrivateKey(key)) throw new ConfigError('RELAYER_KEY_FILE must hold one private key: 0x and 64 hex digits')
    return key
  } finally {
    await file.close()
  }
}
