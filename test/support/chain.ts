/** One embedded chain per test process. It starts on first use and stops after the test file. */
import { startChain } from '../../agent/sandbox/chain.ts'
import { openRpc } from '../../agent/settlement/rpc/json-rpc.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'

const { chainId } = DEPLOYMENTS.testnet

let started: ReturnType<typeof start> | undefined

export async function testChainUrl(): Promise<string> {
  started ??= start()
  return (await started).url
}

async function start() {
  return startChain({ directory: await makeTemporaryDirectory(), chainId })
}

/** Called by the root hook in hooks.ts. A later test file in the same process gets a new chain. */
export async function stopTestChain(): Promise<void> {
  const chain = await started
  started = undefined
  await chain?.stop()
}

/** One JSON-RPC call to a local chain. */
export function rpc(url: string, method: string, ...params: unknown[]): Promise<unknown> {
  return openRpc({ url })(method, params)
}
