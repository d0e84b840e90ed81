/** Sales on a separate chain with their own relayer. */
import { openChain } from '../../agent/settlement/chain/chain.ts'
import { openInProcessFacilitator } from '../../agent/settlement/facilitator/in-process-facilitator.ts'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { rpc } from './chain.ts'
import { signedPayment, testTerms, type WirePayment } from './payments.ts'
import { discard, openTestChain } from './sandbox-chain.ts'
import { SaleHarness } from './sale-harness.ts'
import { tokenOn } from './token.ts'

export type SaleOnChain = Awaited<ReturnType<typeof openSaleOnChain>>

/** `nodesOf` maps the RPC URL of the relayer, for example to a proxy or to several nodes. */
export async function openSaleOnChain(nodesOf: (url: string) => Promise<string | string[]> = async (url) => url) {
  const sandbox = await openTestChain()
  const { buyer, relayer } = sandbox.accounts
  const { url } = sandbox.chain
  // No interval mining: the test controls the blocks.
  await rpc(url, 'evm_setAutomine', true)
  const sale = await SaleHarness.open()
  const deployment = DEPLOYMENTS.testnet
  const facilitator = openInProcessFacilitator({
    deployment,
    rpcUrls: [await nodesOf(url)].flat(),
    relayerKey: relayer.privateKey,
    pollingMs: 50,
    confirmationMs: 3_000,
    report: () => undefined,
  })
  const chain = openChain({ urls: [url], now: () => new Date(), chainId: deployment.chainId })
  sale.context.services = { ...sale.context.services, facilitator, chain }
  return {
    sale,
    relayer: relayer.address,
    sandbox,
    rpc: (method: string, ...params: unknown[]) => rpc(url, method, ...params),
    sign: (): Promise<WirePayment> => signedPayment({ key: buyer.privateKey, terms: testTerms }),
    /** The transactions of all transfers from the buyer to the receiver on the current chain. */
    transfers: () => tokenOn(url).transactions(buyer.address, testTerms.payTo),
    async close(): Promise<void> {
      await sale.close()
      await discard(sandbox)
    },
  }
}
