/** One embedded chain for a test file, or for all where they share a process: started when first asked for, ended after. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChain, type LocalChain } from '../../agent/sandbox/chain.ts'
import { DEPLOYMENTS } from '../../agent/payments/terms.ts'

const { chainId } = DEPLOYMENTS.testnet

let started: Promise<{ chain: LocalChain; directory: string }> | undefined

export async function testChainUrl(): Promise<string> {
  started ??= start()
  return (await started).chain.url
}

async function start() {
  const directory = await mkdtemp(join(tmpdir(), 'chain-'))
  return { chain: await startChain({ directory, chainId }), directory }
}

/** Called by mocha's root hook (hooks.ts); a later test in the same process then gets a chain of its own. */
export async function stopTestChain(): Promise<void> {
  if (!started) return
  const { chain, directory } = await started
  started = undefined
  await chain.stop()
  await rm(directory, { recursive: true })
}
