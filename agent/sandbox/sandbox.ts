/**
 * The sandbox: testnet terms on a local chain, with a test token, a relayer and a funded buyer. It needs no internet.
 */
import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { authorizationTypes } from '@x402/evm'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { responsesFolder, sandboxFolder } from '../../store/files/layout.ts'
import { logMarker, usedReceivers } from '../../store/log/directory-files.ts'
import { openChain } from '../settlement/chain/chain.ts'
import { openInProcessFacilitator } from '../settlement/facilitator/in-process-facilitator.ts'
import { DEPLOYMENTS } from '../payment/terms.ts'
import { openAccounts } from './accounts.ts'
import type { TransferAuthorization } from '../payment/headers.ts'
import { startChain } from './chain.ts'
import { prepareChain } from './prepare-chain.ts'
import { registerAgent } from './registries.ts'

/** The local chain mines each transaction at once. */
const POLLING_MS = 50

interface SandboxOptions {
  config: { dataDirectory: string; rpcUrls: readonly string[]; payTo: string | undefined }
  now: () => Date
  onClockChange?: (isWrong: boolean) => void
  /** Receives a line when the chain is new and the response log was renamed. */
  log: (line: string) => void
}

/** The signature of the buyer, for the page of the sandbox. */
function signTransfer(buyer: { privateKey: Hex }, message: TransferAuthorization): Promise<Hex> {
  const { domain, chainId, asset } = DEPLOYMENTS.testnet
  return privateKeyToAccount(buyer.privateKey).signTypedData({
    domain: { ...domain, chainId, verifyingContract: asset },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    // The types of viem lack the decimal texts, which it encodes like numbers.
    message: message as never,
  })
}

/**
 * The chain is kept in the data directory. If it is lost, the response log is renamed, because its payments are void.
 */
export async function openSandbox({ config, now, onClockChange = () => undefined, log }: SandboxOptions) {
  const directory = sandboxFolder(config.dataDirectory)
  const deployment = DEPLOYMENTS.testnet
  const accounts = await openAccounts({ directory })
  // A configured chain belongs to another process and keeps running.
  const [configured] = config.rpcUrls
  const chain = configured
    ? { url: configured, fresh: false, stop: async () => undefined }
    : await startChain({ directory, chainId: deployment.chainId })
  try {
    const payTo = config.payTo ?? accounts.receiver
    if (chain.fresh) await setLogAside(config.dataDirectory, payTo, log)
    const { buyer, relayer } = accounts
    await prepareChain({ url: chain.url, buyer: buyer.address, relayer: relayer.address }).catch((cause: unknown) => {
      throw configured ? new Error('RPC_URL cannot be used: no Anvil node answers there', { cause }) : cause
    })
    const facilitator = openInProcessFacilitator({
      deployment,
      rpcUrls: [chain.url],
      relayerKey: accounts.relayer.privateKey,
      pollingMs: POLLING_MS,
      report: () => undefined,
    })
    return {
      externals: {
        facilitator,
        settlementsLeft: () => facilitator.settlementsLeft(),
        chain: openChain({ urls: [chain.url], chainId: deployment.chainId, now, onClockChange }),
        payTo,
        registerAgent: (agentUri: string) => registerAgent({ url: chain.url, owner: payTo, agentUri }),
        sandboxAccount: {
          address: accounts.buyer.address,
          sign: (message: TransferAuthorization) => signTransfer(accounts.buyer, message),
        },
      },
      rpcUrl: chain.url,
      buyerKey: accounts.buyer.privateKey,
      stop: () => chain.stop(),
    }
  } catch (cause) {
    await chain.stop()
    throw cause
  }
}

/**
 * The payments of the old log do not exist on a new chain, so a new log is expected. The log of another receiver stays
 * in its place, and the start is refused: it is the log of a service that was started without its configuration.
 */
async function setLogAside(dataDirectory: string, payTo: string, log: SandboxOptions['log']): Promise<void> {
  const used = await usedReceivers.read(dataDirectory)
  if (used?.receivers.at(-1) !== payTo.toLowerCase()) return
  const responses = responsesFolder(dataDirectory)
  if (existsSync(responses)) {
    await rename(responses, `${responses}.${Date.now()}`)
    log('the sandbox chain is new: the response log of the old one was set aside')
  }
  // Last, so that the next start continues after a kill.
  for (const file of [logMarker, usedReceivers]) await file.remove(dataDirectory)
}
