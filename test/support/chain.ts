/** One embedded chain per test process. It starts on first use and stops after the test file. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChain } from '../../agent/sandbox/chain.ts'
import { chainRpc } from '../../agent/sandbox/contracts.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'

const { chainId } = DEPLOYMENTS.testnet

let started: Promise<{ chain: Awaited<ReturnType<typeof startChain>>; directory: string }> | undefined

export async function testChainUrl(): Promise<string> {
  started ??= start()
  return (await started).chain.url
}

async function start() {
  const directory = await mkdtemp(join(tmpdir(), 'chain-'))
  return { chain: await startChain({ directory, chainId }), directory }
}

/** Called by the root hook in hooks.ts. A later test file in the same process gets a new chain. */
export async function stopTestChain(): Promise<void> {
  if (!started) return
  const { chain, directory } = await started
  started = undefined
  await chain.stop()
  await rm(directory, { recursive: true })
}

/** One JSON-RPC call to a local chain. */
export function rpc(url: string, method: string, ...params: unknown[]): Promise<unknown> {
  return chainRpc(url)(method, params)
}
