/**
 * Observes the chain: reads the newest block and the state of payments from one node with one call. A call that fails
 * is repeated on the next node, and a block that differs from the clock is compared with those of the other nodes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Rpc } from '../rpc/json-rpc.ts'
import { WrongChain, type Nodes } from '../rpc/nodes.ts'
import { RateLimited } from '../rpc/post-json.ts'
import { readBlock, readFinalBlock } from './blocks.ts'
import type { ClockCheck } from './clock.ts'
import type { TransferCall, TransferTrial } from './token.ts'
import { decodeView, encodeView, PAYMENTS_MAX, type ObservedPayment } from './view.ts'
import { isTimeout } from '../../../base/deadline.ts'

/** Before the nodes are asked again after a failure. Behind one URL, the next call often reaches another node. */
const REPEAT_MS = 300
/** The longest `Retry-After` that a request waits for. Providers that limit calls per second ask for one second. */
const RATE_WAIT_MS_MAX = 2_000
/**
 * A provider behind one URL can have four nodes, one of them stuck on an old block. Four replies in a row rarely all
 * come from that node.
 */
const ROUNDS_MAX = 4

/** A call that includes the factory of a payer has failed, which says nothing about the node. */
class FactoryFailed extends Error {
  override name = 'FactoryFailed'
  readonly code = 'FACTORY_FAILED'

  constructor(cause: unknown) {
    super('A call with a factory failed', { cause })
  }
}

/** One state of one node. */
export interface Observation {
  /** The index of the node that was observed. */
  node: number
  /** The newest block of the node. */
  number: bigint
  /** Its timestamp, in seconds. */
  time: bigint
  /** A block that no reorganisation changes and that precedes every event of a payment whose nonce is free. */
  anchor: { number: bigint; hash: string }
  /** In the order of the call. */
  payments: PaymentState[]
  /** What the token did with the transfer that was tried, if any. */
  trial: TransferTrial | undefined
  /** The newest final block, if it was asked for and is an ancestor of the newest block. */
  final?: { number: bigint; time: bigint } | undefined
}

interface PaymentState {
  /** Bytes of code of the payer. A contract wallet, or an account with an EIP-7702 delegation, has code. */
  codeBytes: number
  /** The payer's balance of the asset. */
  balance: bigint
  /** Whether the nonce is used or cancelled. */
  isNonceUsed: boolean
  /** The hash of the recorded block. Undefined if none was named, or if it is not below the newest one. */
  recordedHash: string | undefined
}

export interface ObserveOptions {
  /** Prefers every other node to the one of this observation. */
  otherThan?: Pick<Observation, 'node'> | undefined
  /** Asks this node only, once. Only reader.ts names one. */
  node?: number
  /** Reads the final block as well, with a second call. */
  withFinal?: boolean
  /** A transfer that the token of the first payment tries. */
  transfer?: TransferCall | undefined
}

interface ObserverOptions {
  clock: ClockCheck
  pause?: ((milliseconds: number) => Promise<unknown>) | undefined
}

export function openObserver(nodes: Nodes, { clock, pause = sleep }: ObserverOptions) {
  /** The first observation that agrees with the clock, else the nearest of all rounds. Rejects if no node answers. */
  async function observeInRounds(order: readonly number[], read: (node: number) => Promise<Observation>) {
    let nearest: Observation | undefined
    for (let round = 1; ; round += 1) {
      let failure: unknown
      for (const node of order) {
        try {
          const observation = await read(node)
          if (clock.isFresh(observation)) return observation
          nearest = nearest ? clock.nearer(nearest, observation) : observation
        } catch (cause) {
          failure = cause
        }
      }
      if (nearest && round === ROUNDS_MAX) return nearest
      if (nearest) continue
      const pauseMs = round === 1 ? pauseBeforeRepeat(failure) : undefined
      if (pauseMs === undefined) throw failure
      await pause(pauseMs)
    }
  }

  return async function observe(
    payments: readonly ObservedPayment[],
    { otherThan, node: only, ...options }: ObserveOptions = {},
  ): Promise<Observation> {
    if (payments.length > PAYMENTS_MAX) throw new Error(`At most ${PAYMENTS_MAX} payments can be observed at once`)
    const read = async (node: number): Promise<Observation> => {
      return { node, ...(await readState(nodes, node, payments, options)) }
    }
    if (only !== undefined) return read(only)
    const observation = await observeInRounds(nodes.order(otherThan?.node), read)
    if (otherThan === undefined) nodes.prefer(observation.node)
    clock.note(observation)
    return observation
  }
}

/**
 * Undefined if it cannot help: a node of another chain stays one, and a time-out has used up the time of the caller.
 */
function pauseBeforeRepeat(cause: unknown): number | undefined {
  if (cause instanceof WrongChain || cause instanceof FactoryFailed || isTimeout(cause)) return undefined
  if (!(cause instanceof RateLimited)) return REPEAT_MS
  return cause.waitMs <= RATE_WAIT_MS_MAX ? Math.max(REPEAT_MS, cause.waitMs) : undefined
}

async function readState(
  nodes: Nodes,
  node: number,
  payments: readonly ObservedPayment[],
  { withFinal = false, transfer }: ObserveOptions,
): Promise<Omit<Observation, 'node'>> {
  const rpc = nodes.at(node)
  const final = withFinal ? await readFinalBlock(rpc) : undefined
  const data = encodeView(payments, { checkedBlock: final?.number, transfer })
  const result = await rpc('eth_call', [{ data }, 'latest']).catch((cause: unknown) => {
    throw transfer?.deployment ? new FactoryFailed(cause) : cause
  })
  const view = decodeView(result, payments)
  nodes.checkChain(view.chainId)
  const states = await completeHashes(rpc, view, payments)
  const isAncestor = final !== undefined && (await checkFinal(rpc, view, final))
  return { ...view, payments: states, final: isAncestor ? { number: final.number, time: final.timestamp } : undefined }
}

/** Reads the recorded blocks that are too old for the view. */
async function completeHashes(
  rpc: Rpc,
  { number, payments: states }: Pick<Observation, 'number' | 'payments'>,
  payments: readonly ObservedPayment[],
): Promise<PaymentState[]> {
  const hashes = new Map<bigint, Promise<string>>()
  const read = (block: bigint) => {
    const found = hashes.get(block) ?? readBlock(rpc, block).then((header) => header.hash)
    hashes.set(block, found)
    return found
  }
  return Promise.all(
    states.map(async (state, index) => {
      const recorded = payments[index]?.recordedBlock
      if (state.recordedHash !== undefined || recorded === undefined || recorded >= number) return state
      return { ...state, recordedHash: await read(recorded) }
    }),
  )
}

/** The final block and the newest block can come from two nodes. A final block above the newest one does not count. */
async function checkFinal(
  rpc: Rpc,
  view: { number: bigint; checkedHash: string | undefined },
  final: Awaited<ReturnType<typeof readFinalBlock>>,
): Promise<boolean> {
  if (final.number > view.number) return false
  if ((view.checkedHash ?? (await readBlock(rpc, final.number)).hash) !== final.hash) throw new WrongChain()
  return true
}
