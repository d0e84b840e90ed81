/** Puts compiled contracts of ours on the sandbox's chain at addresses of our choice, and sends in anybody's name. */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseEther, type Hex } from 'viem'
import { rpc } from './rpc.ts'

const GAS = parseEther('10000')
const RECEIPT_MS_MAX = 10_000
const RECEIPT_POLL_MS = 20

type Contract = 'Multicall' | 'TestUSDC' | 'IdentityRegistry' | 'ReputationRegistry'

/** The same code is left as it is. */
export async function install(url: string, address: string, contract: Contract): Promise<void> {
  const file = new URL(import.meta.resolve(`#root/agent/sandbox/contracts/${contract}.json`))
  const { runtime } = JSON.parse(await readFile(file, 'utf8')) as { runtime: string }
  if ((await rpc(url, 'eth_getCode', address, 'latest')) === runtime) return
  await rpc(url, 'anvil_setCode', address, runtime)
}

export async function giveGas(url: string, address: string): Promise<void> {
  await rpc(url, 'anvil_setBalance', address, `0x${GAS.toString(16)}`)
}

interface Sending {
  url: string
  /** Nobody's key is needed: the sandbox's chain is asked to believe it. */
  from: string
  to: string
}

/**
 * Sends in the name of an address, which is given the gas for it.
 * @throws when it isn't mined, or reverts
 */
export async function sendAs({ url, from, to }: Sending, ...calls: Hex[]): Promise<void> {
  await giveGas(url, from)
  await rpc(url, 'anvil_impersonateAccount', from)
  for (const data of calls) await mined(url, await rpc(url, 'eth_sendTransaction', { from, to, data }))
}

async function mined(url: string, hash: unknown): Promise<void> {
  for (let waited = 0; waited < RECEIPT_MS_MAX; waited += RECEIPT_POLL_MS) {
    const receipt = (await rpc(url, 'eth_getTransactionReceipt', hash)) as { status: Hex } | null
    if (receipt?.status === '0x1') return
    if (receipt) break
    await sleep(RECEIPT_POLL_MS)
  }
  throw new Error('a transaction of the sandbox was not mined')
}
