/** A real chain for one test, in its own directory, with the test token and funded accounts. */
import { readFile, rm } from 'node:fs/promises'
import {
  BaseError,
  ContractFunctionRevertedError,
  createTestClient,
  http,
  publicActions,
  walletActions,
  type Abi,
  type Hex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { openAccounts } from '../../agent/sandbox/accounts.ts'
import { startChain } from '../../agent/sandbox/chain.ts'
import { prepareChain } from '../../agent/sandbox/prepare-chain.ts'
import { rootFile } from '../programs/compile-contracts.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'

export const TOKEN = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
export const CHAIN_ID = 84_532

/** A chain client that signs as the relayer. */
export function clientOf(url: string, relayerKey: Hex) {
  return createTestClient({
    account: privateKeyToAccount(relayerKey),
    chain: baseSepolia,
    mode: 'anvil',
    transport: http(url, { retryCount: 0, timeout: 5000 }),
    pollingInterval: 20,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions)
}

export async function openTestChain(directory?: string) {
  const folder = directory ?? (await makeTemporaryDirectory())
  const accounts = await openAccounts({ directory: folder })
  const chain = await startChain({ directory: folder, chainId: CHAIN_ID })
  await prepareChain({ url: chain.url, buyer: accounts.buyer.address, relayer: accounts.relayer.address })
  return { directory: folder, chain, accounts, client: clientOf(chain.url, accounts.relayer.privateKey) }
}

/** Stops the chain and deletes its directory. */
export async function discard({ chain, directory }: { chain: { stop(): Promise<void> }; directory: string }) {
  await chain.stop()
  await rm(directory, { recursive: true, force: true })
}

export async function compiled(path: string): Promise<{ abi: Abi; runtime: Hex }> {
  return JSON.parse(await readFile(rootFile(path), 'utf8')) as { abi: Abi; runtime: Hex }
}

/** The revert reason of a call, or "no refusal". */
export async function refusalOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt
    return 'no refusal'
  } catch (cause) {
    const reverted =
      cause instanceof BaseError ? cause.walk((each) => each instanceof ContractFunctionRevertedError) : null
    if (reverted instanceof ContractFunctionRevertedError) return reverted.reason ?? 'no reason'
    throw cause
  }
}
