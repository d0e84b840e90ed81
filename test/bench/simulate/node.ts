/**
 * The RPC nodes of the simulation. They lag, fail, contradict each other, limit searches of logs, and for a while follow a
 * fork or belong to another chain. The product's reader (agent/chain/chain.ts) reads their replies.
 */
import { concat, numberToHex, pad, type Hex } from 'viem'
import { encodeView } from '../../../agent/chain/view.ts'
import { CANCELED, readChainWith, TRANSFER, USED, type Chain } from '../../../agent/chain/chain.ts'
import { RpcError, type Rpc } from '../../../agent/rpc/json-rpc.ts'
import { ReplyError } from '../../../agent/rpc/post-json.ts'
import { blockHash, FINAL_LAG_MAX, FIRST_BLOCK, type Block, type SimulatedChain, type Spend } from './chain.ts'
import { keyOf, TERMS } from './payment.ts'
import type { Owner, Simulator } from './simulator.ts'

/** The product's deadline for a call. */
const RPC_TIMEOUT_MS = 5_000
/** For nodes without the tag `finalized`. Never less than the chain needs. */
const FINAL_CONFIRMATIONS = FINAL_LAG_MAX + 2
/** An LRU cache of the usual size takes long to create. */
const SEARCHES_MAX = 20
/** Shorter than the distance of the two observations that end a payment: a fork has the chain's id and recorded blocks. */
const FORK_MS_MAX = 55_000
/**
 * Longer than that distance: of several nodes only one follows the fork, and the others contradict it. Shorter than the 64
 * blocks down to the one that a sale records: a sale must not begin on a fork that is longer (docs/reliability.md).
 */
const LIE_MS_MAX = 110_000
/** May be longer than that distance, because another chain is recognised by its id. */
const OTHER_CHAIN_MS_MAX = 5 * 60_000
/**
 * The shortest time between two replies of another chain to one server. An observation then gets at most one of them. It cannot notice two, because
 * a block and its check can both come from the other chain.
 */
const WRONG_CHAIN_APART_MS = 30_000
const OTHER_CHAIN_ID = 1
/** The digits of the code of the view, before its arguments. */
const VIEW_DIGITS = encodeView([]).length - 3 * 64
const FORK_SALT = 0xf0_4c
const OTHER_SALT = 0x07_e4

/** What a node shows. Its blocks up to `sharedTo` are those of the chain; it has none of the later transactions. */
interface View {
  chainId: number
  newest: number
  sharedTo: number
  /** The difference of its heights and times from those of the chain. */
  offset: number
  seconds: number
  salt: number
  hasToken: boolean
}

/** What all nodes show for a while instead of the chain: a fork of it, or a chain with another id. */
type OtherChain = Pick<View, 'chainId' | 'offset' | 'seconds' | 'salt' | 'hasToken' | 'sharedTo'>

export class SimulatedNodes {
  readonly #sim: Simulator
  readonly #chain: SimulatedChain
  /** One URL may lead to nodes that are this many blocks behind. */
  readonly #lagMax: number
  /** The most blocks of one search of logs. */
  readonly #logBlocksMax: number
  readonly #finalTag: 'known' | 'unknown' | 'null'
  /** The share of the calls that reach a node of another chain, as behind a load balancer. */
  readonly #wrongChainShare: number
  readonly #count: number
  #otherChain: OtherChain | undefined
  /** The only node that follows a fork, of several ones. */
  #liar: number | undefined
  #wasReplaced = false

  constructor(sim: Simulator, chain: SimulatedChain) {
    this.#sim = sim
    this.#chain = chain
    this.#lagMax = sim.pick([0, 0, 1, 2, 30])
    this.#logBlocksMax = sim.pick([Infinity, Infinity, Infinity, 1_000, 100, 10, 10, 3])
    this.#finalTag = sim.pick(['known', 'known', 'known', 'unknown', 'null'] as const)
    this.#wrongChainShare = sim.pick([0, 0, 0, 0, 0.002, 0.02])
    this.#count = sim.pick([1, 1, 1, 2, 3])
    sim.count(`node ${this.#count} nodes`)
    sim.count(`node ${this.#logBlocksMax} blocks in a search`)
    sim.count(`node the tag finalized is ${this.#finalTag}`)
  }

  /** Whether single calls may reach a node of another chain. */
  mayMixChains = true

  /** The product's reader of the chain, for one server process. */
  open(owner: Owner, now: () => Date): Chain {
    const nodes = Array.from({ length: this.#count }, (_, node) => this.#client(owner, node))
    return readChainWith(nodes, {
      chainId: TERMS.chainId,
      now,
      pause: (milliseconds) =>
        new Promise((resolve) => void this.#sim.after(milliseconds, () => resolve(undefined), owner)),
      finalConfirmations: FINAL_CONFIRMATIONS,
      searchesMax: SEARCHES_MAX,
    })
  }

  /**
   * The only node, or one of several, follows a fork with the same id, whose blocks become final as well. Or all nodes belong
   * to another chain. Once in a run: with two forks, the two observations that end a payment could come from one each.
   */
  change({ mayFork }: { mayFork: boolean }): void {
    const sim = this.#sim
    if (this.#wasReplaced) return
    this.#wasReplaced = true
    const isFork = mayFork && sim.chance(0.5)
    const isLie = isFork && this.#count > 1
    const milliseconds = sim.between(5_000, isLie ? LIE_MS_MAX : isFork ? FORK_MS_MAX : OTHER_CHAIN_MS_MAX)
    sim.count(isFork ? 'fault chain: a fork with the same id' : 'fault chain: another chain')
    if (isLie) {
      sim.count('fault chain: one of several nodes follows a fork')
      this.#liar = sim.between(0, this.#count - 1)
    }
    sim.trace('nodes', () => `${isFork ? 'follow a fork' : 'belong to another chain'} for ${milliseconds} ms`)
    const same = { chainId: TERMS.chainId, offset: 0, seconds: 0, hasToken: true }
    this.#otherChain = isFork ? { ...same, salt: FORK_SALT, sharedTo: this.#chain.head.number } : this.#anyOtherChain()
    sim.afterNoFlush(milliseconds, () => this.restore())
  }

  #isFromWrongChain(after: number): boolean {
    if (!this.mayMixChains || this.#wrongChainShare === 0 || this.#sim.now < after) return false
    return this.#sim.fault('chain: a reply of another chain', this.#wrongChainShare)
  }

  #anyOtherChain(): OtherChain {
    const sim = this.#sim
    return {
      chainId: OTHER_CHAIN_ID,
      salt: OTHER_SALT,
      sharedTo: -1,
      offset: sim.pick([0, -900, 1_000_000]),
      // No clock of a server is wrong in the same way.
      seconds: sim.pick([0, 3_600, -3_600, 90 * 86_400]),
      hasToken: sim.chance(0.7),
    }
  }

  #wrongChainView(): View {
    const other = this.#anyOtherChain()
    return { ...other, newest: this.#chain.head.number + other.offset }
  }

  get isFork(): boolean {
    return this.#otherChain?.salt === FORK_SALT
  }

  restore(): void {
    this.#otherChain = undefined
    this.#liar = undefined
  }

  /** A call reads the state at once. Most replies take no time, because a run has thousands of calls. */
  #client(owner: Owner, node: number): Rpc {
    const sim = this.#sim
    let lag = 0
    let wrongChainAfter = 0
    return (method, params = []) =>
      new Promise((resolve, reject) => {
        const failWith = (error: Error, after: number) => void sim.after(after, () => reject(error), owner)
        if (sim.fault('chain: a call hangs', 0.004)) return failWith(new ReplyError('UNREACHABLE'), RPC_TIMEOUT_MS)
        if (sim.fault('chain: a call fails', 0.008)) return failWith(new ReplyError('UNREACHABLE'), sim.between(0, 500))
        if (sim.fault('chain: a call is refused', 0.004)) return failWith(refusal('limit exceeded'), 0)
        if (sim.chance(0.2)) lag = this.#nextLag()
        const isFromWrongChain = this.#isFromWrongChain(wrongChainAfter)
        if (isFromWrongChain) {
          wrongChainAfter = sim.now + WRONG_CHAIN_APART_MS
          sim.trace(owner.name, () => `gets the reply of another chain to ${method}`)
        }
        const reply = this.#reply(method, params, isFromWrongChain ? this.#wrongChainView() : this.#view(lag, node))
        if (reply instanceof RpcError) reject(reply)
        else if (sim.chance(sim.injectsFaults ? 0.6 : 0.95)) resolve(reply)
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
    if (this.#otherChain && (this.#liar ?? node) === node)
      return { ...this.#otherChain, newest: newest + this.#otherChain.offset }
    return { chainId: TERMS.chainId, newest, sharedTo: newest, offset: 0, seconds: 0, salt: 0, hasToken: true }
  }

  #reply(method: string, params: readonly unknown[], view: View): unknown {
    const [first] = params
    switch (method) {
      case 'eth_getBlockByNumber':
        return this.#blockAt(first as string, view)
      case 'eth_call':
        return this.#observation((first as { data: Hex }).data, view)
      case 'eth_getLogs':
        return this.#logs(first as LogFilter, view)
      case 'eth_getTransactionReceipt':
        return this.#receipt(first as string, view)
      default:
        return refusal(`no method ${method}`)
    }
  }

  #blockAt(at: string, view: View): unknown {
    const final = Math.min(this.#chain.final.number + view.offset, view.newest)
    if (at === 'latest') return toWire(this.#block(view.newest, view))
    if (at !== 'finalized') return toWire(this.#block(Number(at), view))
    if (this.#finalTag === 'unknown') return refusal('no such tag')
    return this.#finalTag === 'null' ? null : toWire(this.#block(final, view))
  }

  #block(number: number, view: View): Block | undefined {
    if (number > view.newest) return undefined
    if (number <= view.sharedTo) return this.#chain.block(number)
    const { time } = this.#chain.block(number - view.offset)
    return { number, hash: blockHash(view.salt, number), time: time + view.seconds }
  }

  /** The result of contracts/ChainView.sol. */
  #observation(data: Hex, view: View): unknown {
    if (!view.hasToken) return refusal('execution reverted')
    const { time } = this.#block(view.newest, view) as Block
    const words = data.slice(VIEW_DIGITS).match(/.{64}/g) ?? []
    const hashOf = (number: bigint) =>
      number < BigInt(view.newest) ? this.#block(Number(number), view)?.hash : undefined
    const [checked = '0', , count = '0', ...payments] = words
    const states = Array.from({ length: Number(BigInt(`0x${count}`)) }, (_, index) => {
      const [, payer = '', nonce = '', recorded = '0'] = payments.slice(4 * index)
      const isUsed = this.#spend(`0x${payer.slice(24)}`, `0x${nonce}`, view) !== undefined
      const balance = this.#chain.balances.get(`0x${payer.slice(24)}`) ?? 0n
      // Payers of the simulation are contract wallets, whose signatures need no key.
      return [1n, balance, isUsed ? 1n : 0n, hashOf(BigInt(`0x${recorded}`))]
    })
    const head = [view.chainId, view.newest, time, hashOf(BigInt(view.newest - 64)), hashOf(BigInt(`0x${checked}`))]
    return concat([...head, 6 * 32, states.length, ...states.flat()].map(toWord))
  }

  #spend(from: string, nonce: string, view: View): Spend | undefined {
    const spend = this.#chain.spends.get(keyOf(from, nonce))
    return spend && spend.block <= Math.min(view.newest, view.sharedTo) ? spend : undefined
  }

  #logs({ fromBlock, toBlock, topics: [, from, nonce] }: LogFilter, view: View): unknown {
    if (Number(toBlock) - Number(fromBlock) >= this.#logBlocksMax) {
      this.#sim.count('node a range of logs is refused')
      return refusal('block range is too wide')
    }
    const spend = this.#spend(`0x${from.slice(26)}`, nonce, view)
    if (!spend || spend.block < Number(fromBlock) || spend.block > Number(toBlock)) return []
    if (this.#sim.fault('chain: logs are missing', 0.05)) return []
    return this.#logsOf(spend, view).slice(0, 1)
  }

  #receipt(hash: string, view: View): unknown {
    for (const spend of this.#chain.spends.values()) {
      if (spend.hash !== hash || spend.block > Math.min(view.newest, view.sharedTo)) continue
      const { transactionHash, blockNumber, blockHash: inBlock } = this.#position(spend, view)
      return { status: '0x1', transactionHash, blockNumber, blockHash: inBlock, logs: this.#logsOf(spend, view) }
    }
    return null
  }

  #logsOf(spend: Spend, view: View): unknown[] {
    const { kind, from, to, value, nonce } = spend
    const common = { address: TERMS.asset, ...this.#position(spend, view) }
    const topics = [kind === 'cancel' ? CANCELED : USED, pad(from as Hex), nonce]
    const use = { ...common, topics, data: '0x', logIndex: '0x0' }
    if (kind === 'cancel') return [use]
    const transfer = [TRANSFER, pad(from as Hex), pad(to as Hex)]
    return [use, { ...common, topics: transfer, data: numberToHex(value, { size: 32 }), logIndex: '0x1' }]
  }

  #position({ hash, block }: Spend, view: View) {
    const { hash: inBlock } = this.#block(block, view) as Block
    return { transactionHash: hash, blockNumber: numberToHex(block), blockHash: inBlock }
  }
}

function toWord(value: string | number | bigint | undefined): Hex {
  return typeof value === 'string' ? (value as Hex) : numberToHex(value ?? 0, { size: 32 })
}

interface LogFilter {
  fromBlock: string
  toBlock: string
  topics: [unknown, string, string]
}

function toWire(block: Block | undefined): unknown {
  return block ? { number: numberToHex(block.number), hash: block.hash, timestamp: numberToHex(block.time) } : null
}

function refusal(message: string): RpcError {
  return new RpcError({ code: -32_000, message })
}
