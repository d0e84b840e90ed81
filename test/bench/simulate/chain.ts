/**
 * The chain of the simulation, which is the truth: blocks, nonces, balances, finality and reorganisations; and the door by
 * which a server reads it, behind which nodes lag, fail and contradict each other.
 */
import type { Chain, Evidence } from '../../../agent/payments/chain.ts'
import type { Authorization } from '../../../agent/payments/headers.ts'
import { keyOf } from './keys.ts'
import { TERMS } from './payment.ts'
import type { Owner, World } from './world.ts'

export interface Transaction {
  kind: 'transfer' | 'cancel'
  hash: string
  /** Payer and nonce, lower case. */
  key: string
  from: string
  to: string
  value: bigint
  validAfter: number
  validBefore: number
}

interface Block {
  number: number
  /** In seconds. */
  time: number
  spends: Transaction[]
}

interface Spend extends Transaction {
  block: number
}

const FIRST_BLOCK = 1000
/** What is asked of a node, and how its faults are counted. */
const CALLS = {
  head: { hangs: 'chain: head hangs', fails: 'chain: head fails' },
  nonce: { hangs: 'chain: nonce hangs', fails: 'chain: nonce fails' },
  evidence: { hangs: 'chain: evidence hangs', fails: 'chain: evidence fails' },
}
/** What the product's own limit makes of a node that hangs. */
const RPC_TIMEOUT_MS = 5_000

export class SimulatedChain {
  readonly spends = new Map<string, Spend>()
  /** Told of each transfer when it is in a block, also in one that goes again. */
  onPaid: (key: string) => void = () => undefined
  readonly mempool: Transaction[] = []
  readonly balances = new Map<string, bigint>()
  readonly #world: World
  readonly #blocks: Block[]
  readonly #blockMs: number
  readonly #finalLag: number
  /** Behind one address there may be nodes that are this many blocks behind. */
  readonly #lagMax: number
  #final = FIRST_BLOCK
  #hashes = 0

  constructor(world: World) {
    this.#world = world
    this.#blocks = [{ number: FIRST_BLOCK, time: seconds(world), spends: [] }]
    this.#blockMs = world.pick([2_000, 6_000, 12_000])
    this.#finalLag = world.between(3, 10)
    this.#lagMax = world.pick([0, 0, 1, 2])
    this.#next()
  }

  get head(): Block {
    return this.#blocks.at(-1) as Block
  }

  get final(): Block {
    return this.#at(this.#final)
  }

  hash(): string {
    this.#hashes += 1
    return `0x${this.#hashes.toString(16).padStart(64, '0')}`
  }

  broadcast(transaction: Transaction): void {
    this.#world.trace('mempool', () => `${transaction.kind} ${transaction.hash.slice(-4)} of ${short(transaction.key)}`)
    this.mempool.push(transaction)
  }

  isFinal(spend: Spend): boolean {
    return spend.block <= this.#final
  }

  /** Takes back the newest blocks, and makes as many others in their place. */
  reorganise(depth: number): void {
    const kept = this.head.number - depth
    if (kept < this.#final) return
    this.#world.count(`fault reorganisation of depth ${depth}`)
    this.#world.trace('chain', () => `reorganisation of ${depth} blocks`)
    const gone = this.#blocks.splice(-depth)
    for (const { spends } of gone.toReversed()) for (const spend of spends.toReversed()) this.#undo(spend)
    for (const { time } of gone) this.#mine(time)
  }

  /** The door of one server. */
  reader(owner: Owner): Chain {
    const world = this.#world
    const ask = <T>({ hangs, fails }: (typeof CALLS)['head'], read: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        if (world.fault(hangs, 0.02)) {
          world.after(RPC_TIMEOUT_MS, () => reject(new Error('time-out')), owner)
        } else if (world.fault(fails, 0.04)) {
          world.after(world.between(0, 500), () => reject(new Error('ECONNRESET')), owner)
        } else {
          // Asked at one moment, answered of another, heard of at a third.
          world.quietlyAfter(
            world.between(0, 300),
            () => {
              const answer = read()
              world.after(world.between(0, 300), () => resolve(answer), owner)
            },
            owner,
          )
        }
      })
    return {
      head: () => ask(CALLS.head, () => BigInt(this.#newest().number)),
      isNonceFree: ({ authorization: { from, nonce } }) =>
        ask(CALLS.nonce, () => !this.#isSpentAt(keyOf(from, nonce), this.#newest().number)),
      evidence: ({ authorization, fromBlock }) => ask(CALLS.evidence, () => this.#evidence(authorization, fromBlock)),
    }
  }

  #next(): void {
    this.#world.quietlyAfter(this.#blockMs, () => {
      this.#mine(seconds(this.#world))
      this.#final = Math.max(this.#final, this.head.number - this.#finalLag)
      if (this.#world.isStormy && this.#world.chance(0.02)) this.reorganise(this.#world.between(1, 2))
      this.#next()
    })
  }

  #mine(time: number): void {
    const block: Block = { number: this.head.number + 1, time, spends: [] }
    this.#blocks.push(block)
    const waiting = this.mempool.splice(0)
    for (const transaction of waiting) {
      if (this.#world.fault('a transaction is dropped', 0.03)) continue
      if (this.#world.fault('a transaction waits', 0.2)) this.mempool.push(transaction)
      else if (this.#isTaken(transaction, time)) this.#apply(transaction, block)
      else this.#world.trace('chain', () => `reverts ${transaction.hash.slice(-4)}`)
    }
  }

  #isTaken({ kind, key, from, value, validAfter, validBefore }: Transaction, time: number): boolean {
    if (this.spends.has(key)) return false
    return kind === 'cancel' || (time > validAfter && time < validBefore && (this.balances.get(from) ?? 0n) >= value)
  }

  #apply(transaction: Transaction, block: Block): void {
    this.#world.trace('chain', () => `block ${block.number}: ${transaction.kind} ${transaction.hash.slice(-4)}`)
    block.spends.push(transaction)
    this.spends.set(transaction.key, { ...transaction, block: block.number })
    if (transaction.to === TERMS.payTo && transaction.value === BigInt(TERMS.prices.lookup))
      this.onPaid(transaction.key)
    this.#move(transaction, transaction.value)
  }

  #undo(transaction: Transaction): void {
    this.spends.delete(transaction.key)
    this.#move(transaction, -transaction.value)
    if (this.#world.fault('a transaction is lost in a reorganisation', 0.4)) return
    this.mempool.push(transaction)
  }

  #move({ kind, from, to }: Transaction, value: bigint): void {
    if (kind === 'cancel') return
    this.balances.set(from, (this.balances.get(from) ?? 0n) - value)
    this.balances.set(to, (this.balances.get(to) ?? 0n) + value)
  }

  #at(number: number): Block {
    return this.#blocks[number - FIRST_BLOCK] as Block
  }

  /** The newest block of whichever node answers. */
  #newest(): Block {
    const lag = this.#world.isStormy && this.#lagMax > 0 && this.#world.chance(0.3) ? this.#lagMax : 0
    if (lag > 0) this.#world.count('fault chain: a node lags')
    return this.#at(Math.max(FIRST_BLOCK, this.head.number - lag))
  }

  #isSpentAt(key: string, block: number): boolean {
    return (this.spends.get(key)?.block ?? Infinity) <= block
  }

  #evidence({ from, nonce, validBefore }: Authorization, fromBlock: bigint): Evidence {
    const newest = this.#newest()
    const spend = this.spends.get(keyOf(from, nonce))
    if (!spend || spend.block > newest.number) {
      const isOver = newest.time >= Number(validBefore)
      const final = this.final
      const finalTime = isOver && final.number <= newest.number ? BigInt(final.time) : 0n
      return { nonce: 'free', time: BigInt(newest.time), finalTime }
    }
    if (spend.block < Number(fromBlock) || this.#world.fault('chain: logs are missing', 0.05))
      return { nonce: 'unclear' }
    const isFinal = this.isFinal(spend)
    if (spend.kind === 'cancel') return { nonce: 'cancelled', isFinal }
    const transfer = { from: spend.from, to: spend.to, value: spend.value, transaction: spend.hash }
    return { nonce: 'used', transfer, isFinal }
  }
}

export function seconds(world: World): number {
  return Math.floor(world.now / 1000)
}

/** Enough of a key, identity or hash to tell it from the others of a run. */
export function short(text: string): string {
  return text.slice(-4)
}
