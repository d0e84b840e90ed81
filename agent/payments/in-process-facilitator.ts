/**
 * A facilitator in this process: x402's own, with a relayer's key that pays the gas. Its words are checked like those of
 * any other (payments/facilitator); its memory of pending transactions is switched off, since the response log is ours.
 */
import { x402Facilitator, type PendingSettlementStore } from '@x402/core/facilitator'
import type { FacilitatorClient } from '@x402/core/server'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, custom, defineChain, publicActions, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import { onChain, openRpc } from './json-rpc.ts'
import type { Deployment } from './terms.ts'

/** Below the facilitator's 30 s. */
const CONFIRMATION_TIMEOUT_MS = 20_000
const RPC_TIMEOUT_MS = 10_000

/**
 * For one transfer. USDC's takes 95,000 from a plain account; a contract wallet's check of its signature comes on top, and
 * can't cost the relayer more than this.
 */
const GAS_MAX = 300_000n
const GAS_USUAL = 100_000n
/** The log warns of a relayer whose balance is good for fewer settlements than this. */
const SETTLEMENTS_LEFT_MIN = 1_000n
const BALANCE_EVERY_MS = 10 * 60_000

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
  /** How long a settlement waits for its receipt; then its outcome is unknown. */
  confirmationMs?: number
  now: () => Date
  report: (event: string, cause: unknown) => void
}

export function openInProcessFacilitator(relayer: Relayer): FacilitatorClient {
  const { deployment, rpcUrl, relayerKey, pollingMs, confirmationMs = CONFIRMATION_TIMEOUT_MS } = relayer
  const { chainId, network } = deployment
  const rpc = onChain(openRpc({ url: rpcUrl, timeoutMs: RPC_TIMEOUT_MS }), chainId)
  const nonces = createNonceManager({ source: jsonRpc() })
  const account = privateKeyToAccount(relayerKey, { nonceManager: nonces })
  const wallet = createWalletClient({
    account,
    chain: defineChain({
      id: chainId,
      name: network,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
      contracts: { multicall3: { address: '0xcA11bde05977b3631167028862bE2a173976CA11' } },
    }),
    transport: custom({ request: ({ method, params }) => rpc(method, params) }, { retryCount: 0 }),
    pollingInterval: pollingMs,
  }).extend(publicActions)
  const inLine = openLine()

  // Sandbox and Base share no types for their transactions, which x402's signer doesn't look at.
  const sender = {
    ...wallet,
    address: account.address,
    // One after the other, so that a number is never taken while another is not yet with the node.
    writeContract: (call: Parameters<typeof wallet.writeContract>[0]) =>
      inLine(async () => {
        try {
          return await wallet.writeContract({ ...call, gas: GAS_MAX } as never)
        } catch (cause) {
          // Without the node's words: x402 finds reasons of the buyer's in them, such as no funds where the relayer has none for
          // gas, and its caller would take that for a refusal before anything was sent.
          relayer.report('transaction_not_sent', cause)
          // oxlint-disable-next-line preserve-caught-error -- the cause is reported, and must not be read
          throw new Error('The transaction was not taken')
        }
      }),
    // Only its own receipt: the relayer's next transaction may have the number of a dropped one, and pays for another sale.
    waitForTransactionReceipt: (wait: Parameters<typeof wallet.waitForTransactionReceipt>[0]) =>
      wallet.waitForTransactionReceipt({ ...wait, checkReplacement: false }),
  }
  const signer = toFacilitatorEvmSigner(sender as never, { confirmationTimeoutMs: confirmationMs })
  const scheme = new ExactEvmScheme(signer, { pendingSettlementStore: FORGETFUL, simulateInSettle: true })
  const facilitator = new x402Facilitator().register(network, scheme)

  /** A transaction that was dropped leaves a gap in the numbers, which would hold up every later one: count anew. */
  function recount(): Promise<void> {
    return inLine(async () => nonces.reset({ address: account.address, chainId }))
  }

  let nextLookAt = 0
  async function watchBalance(): Promise<void> {
    const now = relayer.now().getTime()
    if (now < nextLookAt && nextLookAt - now <= BALANCE_EVERY_MS) return
    nextLookAt = now + BALANCE_EVERY_MS
    try {
      const [balance, price] = await Promise.all([
        wallet.getBalance({ address: account.address }),
        wallet.getGasPrice(),
      ])
      const left = balance / (price * GAS_USUAL || 1n)
      if (left < SETTLEMENTS_LEFT_MIN) relayer.report('relayer_balance_low', `for about ${left} settlements`)
    } catch (cause) {
      relayer.report('relayer_balance_unknown', cause)
    }
  }
  void watchBalance()

  return {
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    async settle(payload, requirements) {
      void watchBalance()
      let isDone = false
      try {
        const reply = await facilitator.settle(payload, requirements)
        isDone = reply.success
        return reply
      } finally {
        if (!isDone) await recount()
      }
    },
    getSupported: async () => facilitator.getSupported() as Awaited<ReturnType<FacilitatorClient['getSupported']>>,
  }
}

/** Runs what it is given one after the other; a failure is its own caller's alone. */
function openLine() {
  let last: Promise<unknown> = Promise.resolve()
  return function inLine<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }
}
