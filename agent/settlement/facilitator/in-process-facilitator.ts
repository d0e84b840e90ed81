/**
 * The facilitator of x402 in this process, with a relayer key that pays for gas. Its answers are checked like those of
 * a remote one (`facilitator.ts`). Its store of pending settlements is disabled, because the response log replaces it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { x402Facilitator, type PendingSettlementStore } from '@x402/core/facilitator'
import type { FacilitatorClient } from '@x402/core/server'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { createWalletClient, custom, defineChain, publicActions, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import type { Report } from '../../../base/runtime.ts'
import { MULTICALL } from '../chain/multicall.ts'
import { isRevert, openRpc, RpcError, type Rpc } from '../rpc/json-rpc.ts'
import { Nodes } from '../rpc/nodes.ts'
import { revertReason, textOf, type TransferTrial } from '../chain/token.ts'
import { TRANSFER_REVERTED } from './facilitator.ts'
import type { NetworkDeployment } from '../../payment/terms.ts'

/** For one call of the relayer to a node. */
const RELAYER_CALL_MS_MAX = 10_000
/** Below FACILITATOR_MS_MAX. */
const CONFIRMATION_MS_MAX = 20_000

/** For one transfer. The transfer of an EOA needs 95,000. The rest is for the signature check of a contract wallet. */
const GAS_MAX = 300_000n
/** The gas of a typical transfer, to estimate how many settlements the balance pays for. */
const GAS_USUAL = 100_000n

const NO_PENDING_SETTLEMENTS: PendingSettlementStore = {
  get: async () => undefined,
  set: async () => undefined,
  delete: async () => undefined,
}

interface InProcessFacilitatorOptions {
  deployment: NetworkDeployment
  /** The nodes of the chain, which are called in turn. */
  rpcUrls: readonly string[]
  relayerKey: Hex
  /** Interval between two requests for a receipt. */
  pollingMs: number
  /** How long a settlement waits for its receipt. After that its outcome is unknown. */
  confirmationMs?: number
  report: Report
}

interface InProcessFacilitator extends Pick<FacilitatorClient, 'verify' | 'settle'> {
  /** How many settlements the relayer can pay for at the current gas price. */
  settlementsLeft(): Promise<bigint>
}

export function openInProcessFacilitator(options: InProcessFacilitatorOptions): InProcessFacilitator {
  const { deployment, confirmationMs = CONFIRMATION_MS_MAX, report } = options
  const { chainId, network } = deployment
  const nonces = createNonceManager({ source: jsonRpc() })
  const { account, wallet } = openWallet(options, nonces)
  const enqueue = createQueue()

  const sender = {
    ...wallet,
    address: account.address,
    // One transaction at a time: the next nonce is assigned only after the transaction with the earlier nonce is sent.
    writeContract: (call: Parameters<typeof wallet.writeContract>[0]) =>
      enqueue(async () => {
        try {
          return await wallet.writeContract({ ...call, gas: GAS_MAX } as never)
        } catch (cause) {
          report('transaction_not_sent', cause)
          throw cause
        }
      }),
    waitForTransactionReceipt: ({ hash, timeout }: { hash: Hex; timeout: number }) =>
      pollReceipt(wallet, { hash, timeoutMs: timeout, pollingMs: options.pollingMs }),
  }
  // The transaction types of x402's signer and of viem differ. The signer does not use them.
  const signer = toFacilitatorEvmSigner(sender as never, { confirmationTimeoutMs: confirmationMs })
  const scheme = new ExactEvmScheme(signer, { pendingSettlementStore: NO_PENDING_SETTLEMENTS, simulateInSettle: true })
  const facilitator = new x402Facilitator().register(network, scheme)

  return {
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    async settle(payload, requirements) {
      let isSettled = false
      try {
        const calls: NodeCalls = { reverted: undefined, failure: undefined }
        const reply = await nodeCalls.run(calls, () => facilitator.settle(payload, requirements))
        isSettled = reply.success
        if (isSettled) return reply
        const { reverted, failure } = calls
        // x402 gives refusals of the payer as the reason for failed calls.
        if (reverted === undefined && failure !== undefined) throw failure
        return reverted === undefined || reverted === 'balance' ? reply : { ...reply, errorReason: TRANSFER_REVERTED }
      } finally {
        // Takes the nonce from the node again, because a dropped transaction leaves a gap that blocks later ones.
        if (!isSettled) await enqueue(async () => nonces.reset({ address: account.address, chainId }))
      }
    },
    settlementsLeft: () => countSettlementsLeft(wallet),
  }
}

/**
 * Asks for the receipt of a transaction until it exists or the time is over. `waitForTransactionReceipt` of viem asks
 * only when the newest block number rises, so that one number that is too high would stop it for all settlements.
 */
async function pollReceipt(
  wallet: RelayerWallet,
  { hash, timeoutMs, pollingMs }: { hash: Hex; timeoutMs: number; pollingMs: number },
) {
  const end = performance.now() + timeoutMs
  for (;;) {
    const receipt = await wallet.getTransactionReceipt({ hash }).catch(() => undefined)
    if (receipt) return receipt
    if (performance.now() >= end) throw new Error('The transaction has no receipt yet')
    await sleep(pollingMs)
  }
}

/** What the node calls of one settlement have shown. x402 does not tell a revert from other failures. */
interface NodeCalls {
  /** Why the token reverted a simulation or the transaction. */
  reverted: TransferTrial | undefined
  failure: unknown
}
const nodeCalls = new AsyncLocalStorage<NodeCalls>()

function observed(rpc: Rpc): Rpc {
  return async (method, params) => {
    const calls = nodeCalls.getStore()
    try {
      const result = await rpc(method, params)
      if (calls && method === 'eth_getTransactionReceipt' && Object(result).status === '0x0') calls.reverted = 'other'
      return result
    } catch (cause) {
      if (calls && cause instanceof RpcError && isRevert(cause))
        calls.reverted ??= revertReason(`${cause.message} ${textOf(String(cause.data))}`)
      else if (calls) calls.failure = cause
      throw cause
    }
  }
}

type RelayerWallet = ReturnType<typeof openWallet>['wallet']

function openWallet(
  { deployment: { chainId, network }, rpcUrls, relayerKey, pollingMs }: InProcessFacilitatorOptions,
  nonceManager: ReturnType<typeof createNonceManager>,
) {
  // Two nodes that hang leave time for a third one within the 30 s of a call.
  const timeoutMs = rpcUrls.length > 1 ? RELAYER_CALL_MS_MAX / 2 : RELAYER_CALL_MS_MAX
  const nodes = new Nodes(
    rpcUrls.map((url) => openRpc({ url, timeoutMs })),
    chainId,
  )
  // An error that the contract causes is an answer.
  const isAnswer = (cause: unknown) => cause instanceof RpcError && isRevert(cause)
  const rpc = observed((method, params) => nodes.inTurn((node) => node(method, params), { isAnswer }))
  const account = privateKeyToAccount(relayerKey, { nonceManager })
  const wallet = createWalletClient({
    account,
    chain: defineChain({
      id: chainId,
      name: network,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [...rpcUrls] } },
      contracts: { multicall3: { address: MULTICALL } },
    }),
    transport: custom({ request: ({ method, params }) => rpc(method, params) }, { retryCount: 0 }),
    pollingInterval: pollingMs,
  }).extend(publicActions)
  return { account, wallet }
}

async function countSettlementsLeft(wallet: RelayerWallet): Promise<bigint> {
  const { address } = wallet.account
  const [wei, price] = await Promise.all([wallet.getBalance({ address }), wallet.getGasPrice()])
  return wei / (price * GAS_USUAL || 1n)
}

/** Runs tasks one after the other. A failed task rejects only its own promise. */
function createQueue() {
  let last: Promise<unknown> = Promise.resolve()
  return function enqueue<T>(task: () => Promise<T>): Promise<T> {
    const result = last.then(task)
    last = result.catch(() => undefined)
    return result
  }
}
