/** A seller on a chain of its own, with a relayer of its own: for what becomes of sales when that chain takes something back. */
import { openChain } from '../../agent/payments/chain.ts'
import { openInProcessFacilitator } from '../../agent/payments/in-process-facilitator.ts'
import { openReconciler } from '../../agent/payments/reconciler.ts'
import { DEPLOYMENTS } from '../../agent/payments/terms.ts'
import { rpc } from '../../agent/sandbox/rpc.ts'
import { signedPayment, testTerms, type WirePayment } from './payments.ts'
import { discard, openTestChain } from './sandbox-chain.ts'
import { TestSeller } from './seller.ts'
import { tokenOn } from './token.ts'

export type RealShop = Awaited<ReturnType<typeof openRealShop>>

/** `nodeOf` may put something between the relayer and its node. */
export async function openRealShop(nodeOf: (url: string) => Promise<string> = async (url) => url) {
  const sandbox = await openTestChain()
  const { buyer, relayer } = sandbox.accounts
  const { url } = sandbox.chain
  // No blocks by the clock: a test counts them.
  await rpc(url, 'evm_setAutomine', true)
  const shop = await TestSeller.open()
  const deployment = DEPLOYMENTS.testnet
  const facilitator = openInProcessFacilitator({
    deployment,
    rpcUrl: await nodeOf(url),
    relayerKey: relayer.privateKey,
    pollingMs: 50,
    confirmationMs: 3_000,
    now: () => new Date(),
    report: () => undefined,
  })
  const chain = openChain({ url, chainId: deployment.chainId })
  shop.seller.desk = { ...shop.seller.desk, facilitator, chain }
  const reconciler = () =>
    openReconciler({
      desk: shop.seller.desk,
      timer: () => () => undefined,
      random: () => 0.5,
      alone: (key, work) => shop.seller.turns.run(key, work, () => undefined),
    })
  return {
    shop,
    relayer: relayer.address,
    rpc: (method: string, ...params: unknown[]) => rpc(url, method, ...params),
    sign: (): Promise<WirePayment> => signedPayment({ key: buyer.privateKey, terms: testTerms }),
    /** The transactions of all transfers that the chain now has from buyer to receiver. */
    transfers: () => tokenOn(url).transactions(buyer.address, testTerms.payTo),
    /** Looks once at everything that is not final, as after a restart. */
    async audit(): Promise<void> {
      const opened = reconciler()
      await opened.round()
      await opened.stop()
    },
    async close(): Promise<void> {
      await shop.close()
      await discard(sandbox)
    },
  }
}
