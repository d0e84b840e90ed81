/**
 * A facilitator in this process: x402's own, with a relayer's key that pays the gas. Its words are checked like those of
 * any other (payments/facilitator); its memory of pending transactions is switched off, since the response log is ours.
 */
import { x402Facilitator, type PendingSettlementStore } from '@x402/core/facilitator'
import type { FacilitatorClient } from '@x402/core/server'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, defineChain, http, publicActions, type Hex } from 'viem'
import { nonceManager, privateKeyToAccount } from 'viem/accounts'
import type { Deployment } from './terms.ts'

/** How long a settlement waits for its receipt; then its outcome is unknown. Below the facilitator's 30 s. */
const CONFIRMATION_TIMEOUT_MS = 20_000
const RPC_TIMEOUT_MS = 10_000

const FORGETFUL: PendingSettlementStore = {
  get: async () => undefined,
  set: async () => undefined,
  delete: async () => undefined,
}

interface Relayer {
  deployment: Deployment
  rpcUrl: string
  relayerKey: Hex
  /** How often to look for a receipt; a chain that mines at once needs no patience. */
  pollingMs: number
}

export function openInProcessFacilitator({ deployment, rpcUrl, relayerKey, pollingMs }: Relayer): FacilitatorClient {
  const { chainId, network } = deployment
  const account = privateKeyToAccount(relayerKey, { nonceManager })
  const wallet = createWalletClient({
    account,
    chain: defineChain({
      id: chainId,
      name: network,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
      contracts: { multicall3: { address: '0xcA11bde05977b3631167028862bE2a173976CA11' } },
    }),
    transport: http(rpcUrl, { batch: false, retryCount: 0, timeout: RPC_TIMEOUT_MS }),
    pollingInterval: pollingMs,
  }).extend(publicActions)

  // Sandbox and Base share no types for their transactions, which x402's signer doesn't look at.
  const signer = toFacilitatorEvmSigner({ ...wallet, address: account.address } as never, {
    confirmationTimeoutMs: CONFIRMATION_TIMEOUT_MS,
  })
  const scheme = new ExactEvmScheme(signer, { pendingSettlementStore: FORGETFUL, simulateInSettle: true })
  const facilitator = new x402Facilitator().register(network, scheme)
  let settling = 0

  return {
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    async settle(payload, requirements) {
      settling += 1
      try {
        return await facilitator.settle(payload, requirements)
      } finally {
        settling -= 1
        // A transaction that was dropped leaves a gap in the nonces that would hold up every later one.
        if (settling === 0) nonceManager.reset({ address: account.address, chainId })
      }
    },
    getSupported: async () => facilitator.getSupported() as Awaited<ReturnType<FacilitatorClient['getSupported']>>,
  }
}
