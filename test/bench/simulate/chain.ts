/**
 * The chain of the simulation: blocks, nonces, balances, finality and reorganisations. Invariants are checked against
 * it, so no fault of a node is in here. Servers read it through the nodes of ./node.ts only.
 */
import { PRICE, TERMS } from './payment.ts'
import type { Simulator } from './simulator.ts'

export interface Transaction {
  kind: 'transfer' | 'cancel'
  hash: string
  /** Payer and nonce, lower case. */
  key: string
  from: string
  to: string
  value: bigint
  nonce: string
  validAfter: number
  validBefore: number
}

export interface Block {
  number: number
  hash: string
  /** In seconds. */
  time: number
}

interface MinedBlock extends Block {
  spends: Transaction[]
}

export interface Spend extends Transaction {
  block: number
}

export const FIRST_BLOCK = 100_500
/** The most blocks between the newest block and the newest final one. */
const FINAL_LAG_MAX = 6

export class SimulatedChain {
  readonly spends = new Map<string, Spend>()
  /** Payments whose transfer was mined, also in a block that was removed later. */
  readonly everPaid = new Set<string>()
  /** Payments with a transaction in a block that was removed. */
  readonly everUndone = new Set<string>()
  readonly mempool: Transaction[] = []
  readonly balances = new Map<string, bigint>()
  readonly #sim: Simulator
  readonly #blocks: MinedBlock[]
  readonly #blockMs: number
  readonly #finalLag: number
  readonly #reorganisationShare: number
  #final = FIRST_BLOCK
  #hashes = 0

  constructor(sim: Simulator) {
    this.#sim = sim
    this.#blocks = [{ number: FIRST_BLOCK, hash: blockHash(0, FIRST_BLOCK), time: seconds(sim), spends: [] }]
    this.#blockMs = sim.pick([2_000, 2_000, 6_000, 12_000])
    this.#finalLag = sim.between(3, FINAL_LAG_MAX)
    this.#reorganisationShare = sim.pick([0.02, 0.02, 0.02, 0.1])
    this.#next()
  }

  get head(): Block {
    return this.#blocks.at(-1) as Block
  }

  get final(): Block {
    return this.block(this.#final)
  }

  /** The block at this height, which is not above the head. Blocks from before the run have no transactions. */
  block(number: number): Block {
    if (number >= FIRST_BLOCK) return this.#blocks[number - FIRST_BLOCK] as Block
    const first = this.#blocks[0] as Block
    const time = first.time - Math.ceil(((FIRST_BLOCK - number) * this.#blockMs) / 1000)
    return { number, hash: blockHash(0, number), time }
  }

  hash(): string {
    this.#hashes += 1
    return `0x${this.#hashes.toString(16).padStart(64, '0')}`
  }

  broadcast(transaction: Transaction): void {
    this.#sim.trace('mempool', () => `${transaction.kind} ${transaction.hash.slice(-4)} of ${short(transaction.key)}`)
    this.mempool.push(transaction)
  }

  isFinal(spend: Spend): boolean {
    return spend.block <= this.#final
  }

  /** Removes the newest blocks and mines as many others. */
  reorganise(depth: number): void {
    const kept = this.head.number - depth
    if (kept < this.#final) return
    this.#sim.count(`fault reorganisation of depth ${depth}`)
    this.#sim.trace('chain', () => `reorganisation of ${depth} blocks`)
    const gone = this.#blocks.splice(-depth)
    for (const { spends } of gone.toReversed()) for (const spend of spends.toReversed()) this.#undo(spend)
    for (const { time } of gone) this.#mine(time)
  }

  #next(): void {
    this.#sim.afterNoFlush(this.#blockMs, () => {
      this.#mine(seconds(this.#sim))
      this.#final = Math.max(this.#final, this.head.number - this.#finalLag)
      if (this.#sim.injectsFaults && this.#sim.chance(this.#reorganisationShare))
        this.reorganise(this.#sim.between(1, 2))
      this.#next()
    })
  }

  #mine(time: number): void {
    const number = this.head.number + 1
    this.#hashes += 1
    const block: MinedBlock = { number, hash: blockHash(this.#hashes, number), time, spends: [] }
    this.#blocks.push(block)
    if (this.mempool.length === 0) return
    for (const transaction of this.mempool.splice(0)) {
      if (this.#sim.fault('a transaction is dropped', 0.03)) continue
      if (this.#sim.fault('a transaction waits', 0.2)) this.mempool.push(transaction)
      else if (this.#isTaken(transaction, time)) this.#apply(transaction, block)
      else this.#sim.trace('chain', () => `reverts ${transaction.hash.slice(-4)}`)
    }
  }

  #isTaken({ kind, key, from, value, validAfter, validBefore }: Transaction, time: number): boolean {
    if (this.spends.has(key)) return false
    return kind === 'cancel' || (time > validAfter && time < validBefore && (this.balances.get(from) ?? 0n) >= value)
  }

  #apply(transaction: Transaction, block: MinedBlock): void {
    this.#sim.trace('chain', () => `block ${block.number}: ${transaction.kind} ${transaction.hash.slice(-4)}`)
    block.spends.push(transaction)
    this.spends.set(transaction.key, { ...transaction, block: block.number })
    if (transaction.to === TERMS.payTo && transaction.value === PRICE) this.everPaid.add(transaction.key)
    this.#move(transaction, transaction.value)
  }

  #undo(transaction: Transaction): void {
    this.spends.delete(transaction.key)
    this.everUndone.add(transaction.key)
    this.#move(transaction, -transaction.value)
    if (this.#sim.fault('a transaction is lost in a reorganisation', 0.4)) return
    this.mempool.push(transaction)
  }

  #move({ kind, from, to }: Transaction, value: bigint): void {
    if (kind === 'cancel') return
    this.balances.set(from, (this.balances.get(from) ?? 0n) - value)
    this.balances.set(to, (this.balances.get(to) ?? 0n) + value)
  }
}

/** A hash whose last 16 digits are the number of the block. */
export function blockHash(salt: number, number: number): string {
  return `0x${salt.toString(16).padStart(48, 'b')}${number.toString(16).padStart(16, '0')}`
}

export function seconds(sim: Simulator): number {
  return Math.floor(sim.now / 1000)
}

/** The end of a key, identity or hash, which is unique within a run. */
export function short(text: string): string {
  return text.slice(-4)
}
