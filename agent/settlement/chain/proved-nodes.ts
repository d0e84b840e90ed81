/**
 * The nodes of `RPC_URL`. With several, each is used only after it has proved that it shows the chain of the others.
 */
import { WrongChain, type Rpc } from '../rpc/json-rpc.ts'
import { readBlock, readFinalBlock } from './blocks.ts'

/** A call that includes the factory of a payer has failed, which says nothing about the node. */
export class FactoryFailed extends Error {
  override name = 'FactoryFailed'
  readonly code = 'FACTORY_FAILED'

  constructor(cause: unknown) {
    super('A call with a factory failed', { cause })
  }
}

export class ProvedNodes {
  readonly #nodes: readonly Rpc[]
  readonly #proved = new Set<number>()

  constructor(nodes: readonly Rpc[]) {
    this.#nodes = nodes
  }

  /** Calls a node, after its proof. A node that fails must prove its chain again. */
  async use<Result>(node: number, call: (rpc: Rpc) => Promise<Result>): Promise<Result> {
    try {
      await this.#prove(node)
      return await call(this.#rpc(node))
    } catch (cause) {
      if (!(cause instanceof FactoryFailed)) this.#proved.delete(node)
      throw cause
    }
  }

  /**
   * The first node that answers is the one that others are compared with. A node that does not answer is skipped in the
   * comparison.
   */
  async #prove(node: number): Promise<void> {
    if (this.#nodes.length === 1 || this.#proved.has(node)) return
    const final = await readFinalBlock(this.#rpc(node))
    for (const other of this.#proved) {
      const isEqual = await this.#isEqual(node, other, final).catch(() => undefined)
      if (isEqual === false) throw new WrongChain()
      if (isEqual) break
    }
    this.#proved.add(node)
  }

  /** Whether two nodes have the same newest common final block. */
  async #isEqual(node: number, other: number, own: { number: bigint; hash: string }): Promise<boolean> {
    const final = await readFinalBlock(this.#rpc(other))
    const [lower, higher] = own.number < final.number ? [own, other] : [final, node]
    return (await readBlock(this.#rpc(higher), lower.number)).hash === lower.hash
  }

  #rpc(node: number): Rpc {
    const rpc = this.#nodes[node]
    if (!rpc) throw new Error('RPC_URL names no such node')
    return rpc
  }
}
