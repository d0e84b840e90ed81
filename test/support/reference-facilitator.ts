/** The facilitator of `@x402/evm`, whose relayer deploys the wallets of some factories. */
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, http, publicActions, type Hex } from 'viem'
import { nonceManager, privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'

/** Of each transaction. None is estimated, so one that fails is sent, and costs gas. */
const GAS = 1_500_000n

interface ReferenceOptions {
  rpcUrl: string
  relayerKey: Hex
  factories: readonly string[]
}

export function openReferenceFacilitator({ rpcUrl, relayerKey, factories }: ReferenceOptions): x402Facilitator {
  const account = privateKeyToAccount(relayerKey, { nonceManager })
  const transport = http(rpcUrl, { retryCount: 0 })
  const wallet = createWalletClient({ account, chain: baseSepolia, transport, pollingInterval: 100 })
  const sender = {
    ...wallet.extend(publicActions),
    address: account.address,
    sendTransaction: (call: object) => wallet.sendTransaction({ ...call, gas: GAS } as never),
    writeContract: (call: object) => wallet.writeContract({ ...call, gas: GAS } as never),
  }
  const signer = toFacilitatorEvmSigner(sender as never)
  const scheme = new ExactEvmScheme(signer, { eip6492AllowedFactories: [...factories] })
  return new x402Facilitator().register(DEPLOYMENTS.testnet.network, scheme)
}
