/** The sandbox: testnet terms on an embedded chain, with a test token, a relayer and a funded buyer. Nothing leaves it. */
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { responsesFolder } from '../../store/layout.ts'
import { openChain } from '../payments/chain.ts'
import { openInProcessFacilitator } from '../payments/in-process-facilitator.ts'
import { DEPLOYMENTS } from '../payments/terms.ts'
import { openAccounts } from './accounts.ts'
import { startChain, type LocalChain } from './chain.ts'
import { prepareChain } from './deploy.ts'
import { registerAgent } from './register.ts'

/** The embedded chain mines at once, so its receipts are there as soon as they are asked for. */
const POLLING_MS = 50

interface SandboxRequest {
  config: { dataDirectory: string; rpcUrl: string | undefined; payTo: string | undefined }
  /** Told in plain words when the chain had to be started anew. */
  log: (line: string) => void
}

/** The chain persists in the data directory. Where it could not, the response log, which knows payments on it, goes too. */
export async function openSandbox({ config, log }: SandboxRequest) {
  const directory = join(config.dataDirectory, 'sandbox')
  const deployment = DEPLOYMENTS.testnet
  const accounts = await openAccounts({ directory })
  const chain =
    config.rpcUrl === undefined ? await startChain({ directory, chainId: deployment.chainId }) : theirs(config.rpcUrl)
  try {
    if (chain.fresh && (await setAside(config.dataDirectory))) {
      log('the sandbox chain is new: the response log of the old one was set aside')
    }
    await prepareChain({ url: chain.url, buyer: accounts.buyer.address, relayer: accounts.relayer.address })
    const facilitator = openInProcessFacilitator({
      deployment,
      rpcUrl: chain.url,
      relayerKey: accounts.relayer.privateKey,
      pollingMs: POLLING_MS,
      now: () => new Date(),
      report: () => undefined,
    })
    const payTo = config.payTo ?? accounts.receiver
    const register = (agentUri: string) => registerAgent({ url: chain.url, owner: payTo, agentUri })
    return {
      doors: {
        facilitator,
        chain: openChain({ url: chain.url, chainId: deployment.chainId }),
        payTo,
        registry: { rpcUrl: chain.url, register },
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

/** A chain that was started by somebody else, and that goes on without us. */
function theirs(url: string): LocalChain {
  return { url, fresh: false, stop: async () => undefined }
}

async function setAside(dataDirectory: string): Promise<boolean> {
  const folder = responsesFolder(dataDirectory)
  try {
    await rename(folder, `${folder}.${Date.now()}`)
    return true
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return false
    throw cause
  }
}
