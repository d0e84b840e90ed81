/** The nodes of one chain: which one is asked next, and whether it belongs to the chain. */
import * as z from 'zod'
import type { CallLimits, Rpc } from './json-rpc.ts'
import { ReplyError } from './post-json.ts'

/** A node belongs to another chain than the configured one. */
export class WrongChain extends Error {
  override name = 'WrongChain'
  readonly code = 'WRONG_CHAIN'

  constructor() {
    super('RPC_URL belongs to another chain')
  }
}

const chainIdSchema = z.string().regex(/^0x[0-9a-f]{1,64}$/i)

interface Attempts {
  /** Whether an error is an answer, which every node would give. */
  isAnswer?: (cause: unknown) => boolean
  /** For each call to a node while another one is left. */
  timeoutMs?: number
  signal?: AbortSignal
}

export class Nodes {
  readonly #nodes: readonly Rpc[]
  readonly #chainId: bigint
  /** The checks of the chain id, by node. */
  readonly #checked = new Map<number, Promise<void>>()
  /** The node that answered last. */
  #preferred = 0

  constructor(nodes: readonly Rpc[], chainId: number) {
    this.#nodes = nodes
    this.#chainId = BigInt(chainId)
  }

  /** All nodes in the order in which they are asked. With `last`, that one is the last. */
  order(last?: number): number[] {
    const order = this.#nodes.map((_, index) => (this.#preferred + index) % this.#nodes.length)
    return last === undefined ? order : [...order.filter((node) => node !== last), last]
  }

  at(node: number): Rpc {
    const rpc = this.#nodes[node]
    if (!rpc) throw new Error('RPC_URL names no such node')
    return rpc
  }

  /** The next call begins with this node. */
  prefer(node: number): void {
    this.#preferred = node
  }

  /** @throws WrongChain */
  checkChain(chainId: bigint): void {
    if (chainId !== this.#chainId) throw new WrongChain()
  }

  /** Runs `work` with one node after the other until one answers. Its chain id is checked before the first call. */
  async inTurn<Result>(
    work: (rpc: Rpc) => Promise<Result>,
    { isAnswer = () => false, timeoutMs, signal }: Attempts = {},
  ): Promise<Result> {
    let failure: unknown
    const order = this.order()
    for (const node of order) {
      try {
        const result = await work(
          this.#onChain(node, { timeoutMs: node === order.at(-1) ? undefined : timeoutMs, signal }),
        )
        this.prefer(node)
        return result
      } catch (cause) {
        if (isAnswer(cause) || signal?.aborted === true) throw cause
        failure = cause
      }
    }
    // The next call begins with another node.
    if (order[1] !== undefined) this.prefer(order[1])
    throw failure
  }

  #onChain(node: number, limits: CallLimits): Rpc {
    const rpc = this.at(node)
    return async (method, params) => {
      const check = this.#checked.get(node) ?? this.#checkNode(node, limits)
      this.#checked.set(node, check)
      await check
      return rpc(method, params, limits)
    }
  }

  /** A failed check is repeated before the next call. It has no signal, because others may wait for it too. */
  async #checkNode(node: number, { timeoutMs }: CallLimits): Promise<void> {
    try {
      const parsed = chainIdSchema.safeParse(await this.at(node)('eth_chainId', [], { timeoutMs }))
      // A node that is starting may return `null` or `0x`.
      if (!parsed.success) throw new ReplyError('NO_CHAIN_ID')
      this.checkChain(BigInt(parsed.data))
    } catch (cause) {
      this.#checked.delete(node)
      throw cause
    }
  }
}
