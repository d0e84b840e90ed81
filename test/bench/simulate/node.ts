/**
 * The RPC nodes of the simulation. They lag, fail, contradict each other, miss logs, and for a while follow a fork.
 * The product's reader (agent/settlement/chain/chain.ts) reads their replies.
 */
import { readChainWith, type Chain } from '../../../agent/settlement/chain/chain.ts'
import { RpcError, type Rpc } from '../../../agent/settlement/rpc/json-rpc.ts'
import { ReplyError } from '../../../agent/settlement/rpc/post-json.ts'
import { replyTo, type ShownChain } from '../../support/remotes/chain-node.ts'
import type { ResponseRecord } from '../../../store/log/record.ts'
import { blockHash, FIRST_BLOCK, type Block, type SimulatedChain, type Spend } from './chain.ts'
import { keyOf, TERMS } from './payment.ts'
import type { Owner, Simulator } from './simulator.ts'
import { NODE_MS_MAX } from '../../../agent/settlement/rpc/time-limits.ts'

/**
 * Shorter than the distance of the two observations that end a payment: a fork has the chain's id and recorded blocks.
 */
const FORK_MS_MAX = 55_000
/**
 * Longer than that distance: of several nodes only one follows the fork, and the others contradict it. Shorter than the
 * 64 blocks down to the one that a sale records: a sale must not begin on a fork that is longer (docs/reliability.md).
 */
const LIE_MS_MAX = 110_000
/** Long enough to mislead a settled payment, which needs four observations. The only node does so in some runs. */
const MISLEADING_MS_MAX = 240_000
const MISLEADING_SHARE = 0.1
const FORK_SALT = 0xf0_4c

/** What a node shows. Its blocks up to `sharedTo` are those of the chain; it has none of the later transactions. */
interface View {
  newest: number
  sharedTo: number
}

/** The transaction on the fork that uses the nonce of a transfer. */
const cancellationOf = (spend: Spend): Spend => ({
  ...spend,
  kind: 'cancel',
  to: spend.from,
  hash: `0xf0f0${spend.hash.slice(6)}`,
})

export class SimulatedNodes {
  readonly #sim: Simulator
  readonly #chain: SimulatedChain
  /** One URL may lead to nodes that are this many blocks behind. */
  readonly #lagMax: number
  readonly #count: number
  /** The last block that a fork has in common with the chain, while nodes follow one. */
  #forkedAt: number | undefined
  /** The only node that follows a fork, of several ones. */
  #liar: number | undefined
  #wasForked = false
  /** Whether the fork shows transfers of the chain as cancellations. Otherwise it shows their nonces as free. */
  #areCancelled = false
  /** Whether the fork is so long that it can end payments. Retries after it must find their transfers. */
  haveMisled = false

  constructor(sim: Simulator, chain: SimulatedChain) {
    this.#sim = sim
    this.#chain = chain
    this.#lagMax = sim.pick([0, 0, 1, 2, 30])
    this.#count = sim.pick([1, 1, 1, 2, 3])
  }

  /** The product's reader of the chain, for one server process. */
  open(owner: Owner, now: () => Date): Chain {
    const nodes = Array.from({ length: this.#count }, (_, node) => this.#client(owner, node))
    return readChainWith(nodes, {
      chainId: TERMS.chainId,
      now,
      pause: (milliseconds) =>
        new Promise((resolve) => void this.#sim.after(milliseconds, () => resolve(undefined), owner)),
    })
  }

  /**
   * The only node, or one of several, follows a fork with the same id, whose blocks become final as well. Once in a
   * run: with two forks, the two observations that end a payment could come from one each.
   */
  fork(): void {
    const sim = this.#sim
    if (this.#wasForked) return
    this.#wasForked = true
    const isLie = this.#count > 1
    this.haveMisled = !isLie && sim.chance(MISLEADING_SHARE)
    const milliseconds = this.haveMisled
      ? sim.between(FORK_MS_MAX, MISLEADING_MS_MAX)
      : sim.between(5_000, isLie ? LIE_MS_MAX : FORK_MS_MAX)
    sim.count('fault chain: a fork with the same id')
    if (this.haveMisled) {
      sim.count('fault chain: a fork that outlasts two observations')
      this.#areCancelled = sim.chance(0.5)
    }
    if (isLie) {
      sim.count('fault chain: one of several nodes follows a fork')
      this.#liar = sim.between(0, this.#count - 1)
    }
    sim.trace('nodes', () => `follow a fork for ${milliseconds} ms`)
    this.#forkedAt = this.#chain.head.number
    sim.afterNoFlush(milliseconds, () => this.restore())
  }

  /** Whether a sale has recorded a block of the fork, which was then longer than 64 blocks (docs/reliability.md). */
  hasBegunOnFork(record: ResponseRecord | undefined): boolean {
    return record?.from_block_hash === blockHash(FORK_SALT, Number(record?.from_block))
  }

  restore(): void {
    this.#forkedAt = undefined
    this.#liar = undefined
  }

  /** A call reads the state at once. Most replies take no time, because a run has thousands of calls. */
  #client(owner: Owner, node: number): Rpc {
    const sim = this.#sim
    let lag = 0
    return (method, params = []) =>
      new Promise((resolve, reject) => {
        const failWith = (error: Error, after: number) => void sim.after(after, () => reject(error), owner)
        if (sim.fault('chain: a call hangs', 0.004)) return failWith(new ReplyError('UNREACHABLE'), NODE_MS_MAX)
        if (sim.fault('chain: a call fails', 0.008)) return failWith(new ReplyError('UNREACHABLE'), sim.between(0, 500))
        if (sim.fault('chain: a call is refused', 0.004)) return failWith(refusal('limit exceeded'), 0)
        if (sim.chance(0.2)) lag = this.#nextLag()
        const reply = replyTo(this.#show(this.#view(lag, node)), method, params)
        if (sim.chance(sim.injectsFaults ? 0.6 : 0.95)) resolve(reply)
        else sim.after(this.#delay(), () => resolve(reply), owner)
      })
  }

  #delay(): number {
    const sim = this.#sim
    return sim.fault('chain: a slow call', 0.03) ? sim.between(100, 4_000) : sim.between(0, 200)
  }

  #nextLag(): number {
    const sim = this.#sim
    return this.#lagMax > 0 && sim.fault('chain: a node lags', 0.3) ? this.#lagMax : 0
  }

  #view(lag: number, node: number): View {
    const { head } = this.#chain
    const newest = Math.max(FIRST_BLOCK, head.number - (this.#sim.injectsFaults ? lag : 0))
    const isForked = (this.#liar ?? node) === node
    return { newest, sharedTo: Math.min(newest, (isForked ? this.#forkedAt : undefined) ?? newest) }
  }

  /** What a node shows. Above `sharedTo` it has no transaction, or other ones. It misses logs now and then. */
  #show(view: View): ShownChain {
    const hasOthers = this.#areCancelled && view.sharedTo < view.newest
    const seen = (spend: Spend): Spend[] => {
      if (spend.block > view.newest) return []
      if (spend.block <= view.sharedTo) return [spend]
      return hasOthers ? [cancellationOf(spend)] : []
    }
    const all = () => [...this.#chain.spends.values()].flatMap(seen)
    const toShown = (spend: Spend) => ({ spend, transaction: spend.hash, block: spend.block })
    return {
      chainId: TERMS.chainId,
      newest: view.newest,
      final: Math.min(this.#chain.final.number, view.newest),
      block: (number) => this.#block(number, view),
      // Payers of the simulation are contract wallets, whose signatures need no key.
      stateOf: (payer, nonce) => {
        const spend = this.#chain.spends.get(keyOf(payer, nonce))
        const balance = this.#chain.balances.get(payer) ?? 0n
        return { codeBytes: 1, balance, isUsed: spend !== undefined && seen(spend).length > 0 }
      },
      spends: ({ from, to }) => {
        const inRange = ({ block }: Spend) => block >= from && block <= to
        const spends = all().filter(inRange)
        return spends.length > 0 && this.#sim.fault('chain: logs are missing', 0.05) ? [] : spends.map(toShown)
      },
      spendIn: (transaction) =>
        all()
          .filter(({ hash }) => hash === transaction)
          .map(toShown)
          .at(0),
    }
  }

  #block(number: number, view: View): Block | undefined {
    if (number > view.newest) return undefined
    if (number <= view.sharedTo) return this.#chain.block(number)
    const { time } = this.#chain.block(number)
    return { number, hash: blockHash(FORK_SALT, number), time }
  }
}

function refusal(message: string): RpcError {
  return new RpcError({ code: -32_000, message })
}
