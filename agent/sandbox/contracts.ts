/** Installs compiled contracts at fixed addresses of the local chain, and sends transactions from any address. */
import { readFile } from 'node:fs/promises'
import { createTestClient, http, parseEther, publicActions, walletActions, type Address, type Hex } from 'viem'

export const GAS_BALANCE = parseEther('10000')
const RECEIPT_MS_MAX = 10_000
const RECEIPT_POLL_MS = 20

type Contract = 'Multicall' | 'TestUSDC' | 'IdentityRegistry' | 'ReputationRegistry'

/** A client of the local chain. It holds no key. */
export function openLocalClient(url: string) {
  const transport = http(url, { retryCount: 0 })
  return createTestClient({ mode: 'anvil', transport, pollingInterval: RECEIPT_POLL_MS, cacheTime: 0 })
    .extend(publicActions)
    .extend(walletActions)
}

/** Does nothing if the code is already there. */
export async function installContract(url: string, address: Address, contract: Contract): Promise<void> {
  const file = new URL(import.meta.resolve(`#root/agent/sandbox/contracts/${contract}.json`))
  const { runtime } = JSON.parse(await readFile(file, 'utf8')) as { runtime: Hex }
  const client = openLocalClient(url)
  if ((await client.getCode({ address })) !== runtime) await client.setCode({ address, bytecode: runtime })
}

/**
 * Sends transactions from any address, after giving it gas. No key is needed: anvil impersonates the address.
 * @throws if a transaction is not mined or reverts
 */
export async function sendAs({ url, from, to }: { url: string; from: string; to: Address }, ...calls: Hex[]) {
  const account = from as Address
  const client = openLocalClient(url)
  await client.setBalance({ address: account, value: GAS_BALANCE })
  await client.impersonateAccount({ address: account })
  for (const data of calls) {
    const hash = await client.sendTransaction({ account, to, data, chain: null })
    const { status } = await client.waitForTransactionReceipt({ hash, timeout: RECEIPT_MS_MAX })
    if (status !== 'success') throw new Error('A transaction on the sandbox chain reverted')
  }
}
