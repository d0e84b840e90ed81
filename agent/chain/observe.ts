/**
 * Observes the chain: reads the newest block and the state of payments from one node with one call. A call that fails is
 * repeated on the next node, and a block that is too old is compared with those of the other nodes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { WrongChain, type Rpc } from '../rpc/json-rpc.ts'
import { ReplyError } from '../rpc/post-json.ts'
import { decodeView, encodeView, PAYMENTS_MAX, type ObservedPayment, type PaymentState } from './view.ts'

/** A node with an older block lags, or the chain has stopped. Base has a block every two seconds. */
const BLOCK_AGE_MS_MAX = 60_000
/** Before the nodes are asked again. Behind one URL, the next call often reaches another node. */
const REPEAT_MS = 300

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
}

interface ObserveOptions {
  /** Prefers every other node to this one. */
  otherThan?: number | undefined
}

export interface Observer {
  /** Rejects if no node gives an answer, if they belong to another chain, or if their state is not complete. */
  observe(payments: readonly ObservedPayment[], options?: ObserveOptions): Promise<Observation>
}

interface ObserverOptions {
  chainId: number
  now: () => Date
  pause?: (milliseconds: number) => Promise<unknown>
}

export function openObserver(nodes: readonly Rpc[], { chainId, now, pause = sleep }: ObserverOptions): Observer {
  /** The node that answered last. */
  let preferred = 0

  async function observeNode(node: number, payments: readonly ObservedPayment[]): Promise<Observation> {
    const data = encodeView(payments)
    const state = decodeView(await nodes[node]?.('eth_call', [{ data }, 'latest']), payments)
    if (state.chainId !== BigInt(chainId)) throw new WrongChain()
    const { anchor, number, time } = state
    if (anchor.hash === undefined) throw new ReplyError('NO_BLOCK_HASH')
    return { node, number, time, anchor: { ...anchor, hash: anchor.hash }, payments: state.payments }
  }

  async function observeAny(
    order: readonly number[],
    payments: readonly ObservedPayment[],
  ): Promise<Observation | { cause: unknown }> {
    let newest: Observation | undefined
    let cause: unknown
    for (const node of order) {
      try {
        const observation = await observeNode(node, payments)
        const isFresh = Number(observation.time) * 1000 >= now().getTime() - BLOCK_AGE_MS_MAX
        if (isFresh) return observation
        if (!newest || observation.time > newest.time) newest = observation
      } catch (failure) {
        cause = failure
      }
    }
    return newest ?? { cause }
  }

  return {
    async observe(payments, { otherThan } = {}) {
      if (payments.length > PAYMENTS_MAX) throw new Error(`At most ${PAYMENTS_MAX} payments can be observed at once`)
      const inTurn = nodes.map((_, index) => (preferred + index) % nodes.length)
      const order = otherThan === undefined ? inTurn : [...inTurn.filter((node) => node !== otherThan), otherThan]
      let found = await observeAny(order, payments)
      if ('cause' in found && mayHelpToRepeat(found.cause)) {
        await pause(REPEAT_MS)
        found = await observeAny(order, payments)
      }
      if ('cause' in found) throw found.cause
      if (otherThan === undefined) preferred = found.node
      return found
    },
  }
}

/** A node of another chain stays one, and a time-out has used up the time of the caller. */
function mayHelpToRepeat(cause: unknown): boolean {
  return !(cause instanceof WrongChain) && !(cause instanceof Error && cause.name === 'TimeoutError')
}
