/**
 * The state behind the fake facilitator and the fake chain node: the transfers, and blocks that follow the clock. A
 * nonce is used once, as in the token.
 */
import { createHash } from 'node:crypto'
import { DOMAIN } from '../eip3009.ts'
import type { AuthorizationFields } from '../payments.ts'
import type { NodeBlock, NodeSpend } from './wire.ts'

export interface LedgerTransfer {
  authorization: AuthorizationFields & Pick<NodeSpend, 'kind'>
  /** Hash of its transaction, which has no other transfer. */
  transaction: string
  block: number
}

/** An account that differs from the others, which have no code and much money. In lower case. */
export interface LedgerAccount {
  codeBytes?: number
  /** In the smallest unit. A transfer reduces it. */
  balance?: number
  /** The text with which the token reverts each transfer from it. */
  revert?: string
  /** Milliseconds that a settlement of its payments takes. */
  settleMs?: number
  /** Whether it has no money any more when its payment is settled. */
  isEmptiedAfterVerify?: boolean
}

interface LedgerOptions {
  unfinalBlocks: number
  chainId?: number
  blockMs?: number
  /** The time of block 0. */
  originMs?: number
  now?: () => number
}

export class Ledger {
  /** By address, in lower case. */
  readonly accounts = new Map<string, LedgerAccount>()
  /** The observations of each payer, by address in lower case. */
  readonly observed = new Map<string, number>()
  /** Settlements of a payment that was settled before. */
  repeated = 0
  readonly chainId: number
  /** Blocks above the newest final block. */
  readonly unfinalBlocks: number
  readonly #blockMs: number
  readonly #originMs: number
  readonly #now: () => number
  readonly #byNonce = new Map<string, LedgerTransfer>()
  readonly #byBlock = new Map<number, LedgerTransfer[]>()
  readonly #byTransaction = new Map<string, LedgerTransfer>()

  constructor(options: LedgerOptions) {
    const { unfinalBlocks, chainId = DOMAIN.chainId, blockMs = 2_000, originMs = 0, now = Date.now } = options
    this.unfinalBlocks = unfinalBlocks
    this.chainId = chainId
    this.#blockMs = blockMs
    this.#originMs = originMs
    this.#now = now
  }

  /** The number of the newest block. */
  get newest(): number {
    return Math.floor((this.#now() - this.#originMs) / this.#blockMs)
  }

  block(number: number): NodeBlock {
    const time = Math.floor((this.#originMs + number * this.#blockMs) / 1000)
    return { number, hash: `0xb1${number.toString(16).padStart(62, '0')}`, time }
  }

  get nonces(): string[] {
    return [...this.#byNonce.keys()]
  }

  accountOf(address: string): LedgerAccount {
    return this.accounts.get(address.toLowerCase()) ?? {}
  }

  noteObserved(payer: string): LedgerAccount {
    this.observed.set(payer, (this.observed.get(payer) ?? 0) + 1)
    return this.accountOf(payer)
  }

  transferOf(nonce: string): LedgerTransfer | undefined {
    return this.#byNonce.get(nonce)
  }

  transferIn(transaction: string): LedgerTransfer | undefined {
    return this.#byTransaction.get(transaction)
  }

  /** The transfers in a range of blocks. */
  transfersIn(from: number, to: number): LedgerTransfer[] {
    const blocks = [...this.#byBlock.keys()].filter((block) => block >= from && block <= to)
    return blocks.flatMap((block) => this.#byBlock.get(block) ?? [])
  }

  /** Undefined if the nonce was used before. The block may be a later one, as that of a pending transaction. */
  transfer(authorization: AuthorizationFields, block = this.newest): LedgerTransfer | undefined {
    const transfer = this.#use(authorization, block)
    const account = this.accountOf(authorization.from)
    if (transfer && account.balance !== undefined) account.balance -= Number(authorization.value)
    return transfer
  }

  cancel(authorization: AuthorizationFields): void {
    this.#use({ ...authorization, to: authorization.from, kind: 'cancel' }, this.newest)
  }

  #use(authorization: LedgerTransfer['authorization'], block: number): LedgerTransfer | undefined {
    const { nonce } = authorization
    if (this.#byNonce.has(nonce)) {
      this.repeated += 1
      return undefined
    }
    const transaction = transactionOf(nonce)
    const transfer = { authorization, transaction, block }
    this.#byNonce.set(nonce, transfer)
    this.#byTransaction.set(transaction, transfer)
    this.#byBlock.set(block, [...(this.#byBlock.get(block) ?? []), transfer])
    return transfer
  }
}

/** The hash of the transaction that uses a nonce. */
export function transactionOf(nonce: string): string {
  return `0x${createHash('sha256').update(nonce).digest('hex')}`
}
