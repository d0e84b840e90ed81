/**
 * What is known of each node of `RPC_URL`: whether it has proved that it shows the chain of the others, and since when
 * it gives no usable answer. A single node has nothing to prove.
 */
import { WrongChain, type Rpc } from '../rpc/json-rpc.ts'
import { readBlock, readFinalBlock } from './blocks.ts'

/** The time after which a node without a usable answer is reported. */
const UNUSABLE_MS = 60_000

interface NodeStatesOptions {
  finalConfirmations: bigint
  clock: { now: () => Date }
  onUnusable?: ((node: number, cause: unknown) => void) | undefined
}

/** The result of a call, and whether it counts as one of a node that works. */
interface Used<Result> {
  result: Result
  isUsable: boolean
}

/** A call that includes the factory of a payer has failed, which says nothing about the node. */
export class FactoryFailed extends Error {
  override name = 'FactoryFailed'
  readonly code = 'FACTORY_FAILED'

  constructor(cause: unknown) {
    super('A call with a factory failed', { cause })
  }
}

export class NodeStates {
  readonly #nodes: readonly Rpc[]
  readonly #options: NodeStatesOptions
  readonly #proved = new Set<number>()
  /** The start of the outage of a node, and whether it was reported. */
  readonly #outages = new Map<number, { since: number; isReported: boolean }>()

  constructor(nodes: readonly Rpc[], options: NodeStatesOptions) {
    this.#nodes = nodes
    this.#options = options
  }

  /** Calls a node, after its proof. A node that fails must prove its chain again. */
  async use<Result>(node: number, call: (rpc: Rpc) => Promise<Used<Result>>): Promise<Result> {
    try {
      await this.#prove(node)
      const { result, isUsable } = await call(this.#rpc(node))
      this.#note(node, isUsable ? undefined : 'its newest block differs from the clock')
      return result
    } catch (cause) {
      if (cause instanceof FactoryFailed) throw cause
      this.#proved.delete(node)
      this.#note(node, cause)
      throw cause
    }
  }

  unusable(): number[] {
    const now = this.#options.clock.now().getTime()
    return [...this.#outages].flatMap(([node, { since }]) => (now - since >= UNUSABLE_MS ? [node] : []))
  }

  /**
   * The first node that answers is the one that others are compared with. A node that does not answer is skipped in the
   * comparison.
   */
  async #prove(node: number): Promise<void> {
    if (this.#nodes.length === 1 || this.#proved.has(node)) return
    const final = await this.#finalBlock(node)
    for (const other of this.#proved) {
      const isEqual = await this.#isEqual(node, other, final).catch(() => undefined)
      if (isEqual === false) throw new WrongChain()
      if (isEqual) break
    }
    this.#proved.add(node)
  }

  /** Whether two nodes have the same newest common final block. */
  async #isEqual(node: number, other: number, own: { number: bigint; hash: string }): Promise<boolean> {
    const final = await this.#finalBlock(other)
    const [lower, higher] = own.number < final.number ? [own, other] : [final, node]
    return (await readBlock(this.#rpc(higher), lower.number)).hash === lower.hash
  }

  #finalBlock(node: number) {
    return readFinalBlock(this.#rpc(node), this.#options.finalConfirmations)
  }

  #note(node: number, cause: unknown): void {
    if (cause === undefined) return void this.#outages.delete(node)
    const now = this.#options.clock.now().getTime()
    const outage = this.#outages.get(node) ?? { since: now, isReported: false }
    this.#outages.set(node, outage)
    if (outage.isReported || now - outage.since < UNUSABLE_MS) return
    outage.isReported = true
    this.#options.onUnusable?.(node, cause)
  }

  #rpc(node: number): Rpc {
    const rpc = this.#nodes[node]
    if (!rpc) throw new Error('RPC_URL names no such node')
    return rpc
  }
}
