/**
 * The chain of the simulation: blocks, nonces, balances, finality and reorganisations. Invariants are checked against it.
 * Servers read it through RPC nodes that lag, fail and contradict each other.
 */
import type { Chain, AuthorizationEvidence } from '../../../agent/payments/chain.ts'
import type { TransferAuthorization } from '../../../agent/payments/headers.ts'
import { keyOf } from './keys.ts'
import { TERMS } from './payment.ts'
import type { Owner, Simulator } from './simulator.ts'

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
/** The calls to a node, and the names under which their faults are counted. */
const CALLS = {
  head: { hangs: 'chain: head hangs', fails: 'chain: head fails' },
  nonce: { hangs: 'chain: nonce hangs', fails: 'chain: nonce fails' },
  evidence: { hangs: 'chain: evidence hangs', fails: 'chain: evidence fails' },
}
/** The product's deadline for a node. */
const RPC_TIMEOUT_MS = 5_000

export class SimulatedChain {
  readonly spends = new Map<string, Spend>()
  /** Called for each transfer that is mined, also in a block that is removed later. */
  onPaid: (key: string) => void = () => undefined
  readonly mempool: Transaction[] = []
  readonly balances = new Map<string, bigint>()
  readonly #sim: Simulator
  readonly #blocks: Block[]
  readonly #blockMs: number
  readonly #finalLag: number
  /** One URL may lead to nodes that are this many blocks behind. */
  readonly #lagMax: number
  #final = FIRST_BLOCK
  /** While the nodes follow a fork: the last block that it shares with the chain. */
  #forkedAt = Infinity
  #hashes = 0

  constructor(sim: Simulator) {
    this.#sim = sim
    this.#blocks = [{ number: FIRST_BLOCK, time: seconds(sim), spends: [] }]
    this.#blockMs = sim.pick([2_000, 6_000, 12_000])
    this.#finalLag = sim.between(3, 10)
    this.#lagMax = sim.pick([0, 0, 1, 2])
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

  /** For a while all nodes follow a fork with the same chain id, whose blocks become final as well. */
  fork(milliseconds: number): void {
    this.#sim.count('fault chain: a fork with the same id')
    this.#sim.trace('chain', () => `the nodes follow a fork for ${milliseconds} ms`)
    this.#forkedAt = this.head.number
    this.#sim.afterNoFlush(milliseconds, () => (this.#forkedAt = Infinity))
  }

  /** The client of one server process. */
  reader(owner: Owner): Chain {
    const sim = this.#sim
    const ask = <T>({ hangs, fails }: (typeof CALLS)['head'], read: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        if (sim.fault(hangs, 0.02)) {
          sim.after(RPC_TIMEOUT_MS, () => reject(new Error('time-out')), owner)
        } else if (sim.fault(fails, 0.04)) {
          sim.after(sim.between(0, 500), () => reject(new Error('ECONNRESET')), owner)
        } else {
          // The request, the state it reads and the response are at three different times.
          sim.afterNoFlush(
            sim.between(0, 300),
            () => {
              const answer = read()
              sim.after(sim.between(0, 300), () => resolve(answer), owner)
            },
            owner,
          )
        }
      })
    return {
      head: () =>
        ask(CALLS.head, () => {
          const above = sim.fault('chain: the head is too high', 0.02) ? sim.between(1, 1_000) : 0
          return BigInt(this.#newest().number + above)
        }),
      // Payers of the simulation are contract wallets, whose signatures need no key.
      hasCode: async () => true,
      blockHash: async (number) => {
        const head = await ask(CALLS.head, () => this.head.number)
        if (number > BigInt(head)) throw new Error('no such block')
        return `0x${number.toString(16).padStart(64, '0')}`
      },
      progress: () => ask(CALLS.head, () => ({ time: BigInt(this.head.time), finalBlock: BigInt(this.#final) })),
      isNonceFree: ({ authorization: { from, nonce } }) =>
        ask(CALLS.nonce, () => !this.#isSpentAt(keyOf(from, nonce), this.#newest().number)),
      evidence: ({ authorization, fromBlock }) => ask(CALLS.evidence, () => this.#evidence(authorization, fromBlock)),
    }
  }

  #next(): void {
    this.#sim.afterNoFlush(this.#blockMs, () => {
      this.#mine(seconds(this.#sim))
      this.#final = Math.max(this.#final, this.head.number - this.#finalLag)
      if (this.#sim.injectsFaults && this.#sim.chance(0.02)) this.reorganise(this.#sim.between(1, 2))
      this.#next()
    })
  }

  #mine(time: number): void {
    const block: Block = { number: this.head.number + 1, time, spends: [] }
    this.#blocks.push(block)
    const waiting = this.mempool.splice(0)
    for (const transaction of waiting) {
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

  #apply(transaction: Transaction, block: Block): void {
    this.#sim.trace('chain', () => `block ${block.number}: ${transaction.kind} ${transaction.hash.slice(-4)}`)
    block.spends.push(transaction)
    this.spends.set(transaction.key, { ...transaction, block: block.number })
    if (transaction.to === TERMS.payTo && transaction.value === BigInt(TERMS.prices.lookup))
      this.onPaid(transaction.key)
    this.#move(transaction, transaction.value)
  }

  #undo(transaction: Transaction): void {
    this.spends.delete(transaction.key)
    this.#move(transaction, -transaction.value)
    if (this.#sim.fault('a transaction is lost in a reorganisation', 0.4)) return
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

  /** The newest block of the node that responds. */
  #newest(): Block {
    const lag = this.#sim.injectsFaults && this.#lagMax > 0 && this.#sim.chance(0.3) ? this.#lagMax : 0
    if (lag > 0) this.#sim.count('fault chain: a node lags')
    return this.#at(Math.max(FIRST_BLOCK, this.head.number - lag))
  }

  #isSpentAt(key: string, block: number): boolean {
    return (this.spends.get(key)?.block ?? Infinity) <= block
  }

  #evidence({ from, nonce, validBefore }: TransferAuthorization, fromBlock: bigint | undefined): AuthorizationEvidence {
    const newest = this.#newest()
    const spend = this.spends.get(keyOf(from, nonce))
    if (!spend || spend.block > Math.min(newest.number, this.#forkedAt)) {
      const isOver = newest.time >= Number(validBefore)
      const final = this.final
      const finalTime = isOver && final.number <= newest.number ? BigInt(final.time) : 0n
      return { nonce: 'free', time: BigInt(newest.time), finalTime }
    }
    if (spend.block < Number(fromBlock ?? FIRST_BLOCK) || this.#sim.fault('chain: logs are missing', 0.05))
      return { nonce: 'unclear' }
    const isFinal = this.isFinal(spend)
    if (spend.kind === 'cancel') return { nonce: 'cancelled', isFinal }
    const transfer = { from: spend.from, to: spend.to, value: spend.value, transaction: spend.hash }
    return { nonce: 'used', transfer, isFinal }
  }
}

export function seconds(sim: Simulator): number {
  return Math.floor(sim.now / 1000)
}

/** The end of a key, identity or hash, which is unique within a run. */
export function short(text: string): string {
  return text.slice(-4)
}
