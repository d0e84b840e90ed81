/**
 * The state behind the fake facilitator and the fake chain node: the transfers, and blocks that follow the clock. A nonce is
 * used once, as in the token.
 */
import { createHash } from 'node:crypto'
import type { AuthorizationFields } from '../../support/payments.ts'

const BLOCK_SECONDS = 2

export interface LedgerTransfer {
  authorization: AuthorizationFields
  /** Hash of its transaction, which has no other transfer. */
  transaction: string
  block: number
}

export type LedgerBlock = ReturnType<typeof blockAt>

/** An account that differs from the others, which have no code and much money. In lower case. */
export interface LedgerAccount {
  codeBytes?: number
  /** In the smallest unit. A transfer reduces it. */
  balance?: number
  /** Whether the wallet contract rejects every signature. */
  isRefused?: boolean
  /** Whether it has no money any more when its payment is settled. */
  isEmptiedAfterVerify?: boolean
}

export class Ledger {
  /** By address, in lower case. */
  readonly accounts = new Map<string, LedgerAccount>()
  /** The observations of each payer, by address in lower case. */
  readonly observed = new Map<string, number>()
  /** Blocks above the newest final block. */
  readonly #unfinalBlocks: number
  readonly #byNonce = new Map<string, LedgerTransfer>()
  readonly #byTransaction = new Map<string, LedgerTransfer>()

  constructor({ unfinalBlocks }: { unfinalBlocks: number }) {
    this.#unfinalBlocks = unfinalBlocks
  }

  get newestBlock(): LedgerBlock {
    return blockAt(Math.floor(Date.now() / 1000 / BLOCK_SECONDS))
  }

  get finalBlock(): LedgerBlock {
    return blockAt(this.newestBlock.number - this.#unfinalBlocks)
  }

  get nonces(): string[] {
    return [...this.#byNonce.keys()]
  }

  /** Whether the payer has the amount. */
  canPay({ from, value }: AuthorizationFields): boolean {
    return (this.accounts.get(from.toLowerCase())?.balance ?? Infinity) >= Number(value)
  }

  /** Whether the payer still has the amount after the facilitator has verified the payment. */
  canSettle(authorization: AuthorizationFields): boolean {
    const isEmptied = this.accounts.get(authorization.from.toLowerCase())?.isEmptiedAfterVerify ?? false
    return !isEmptied && this.canPay(authorization)
  }

  noteObserved(payer: string): LedgerAccount {
    this.observed.set(payer, (this.observed.get(payer) ?? 0) + 1)
    return this.accounts.get(payer) ?? {}
  }

  isUsed(nonce: string): boolean {
    return this.#byNonce.has(nonce)
  }

  transferOf(nonce: string): LedgerTransfer | undefined {
    return this.#byNonce.get(nonce)
  }

  transferIn(transaction: string): LedgerTransfer | undefined {
    return this.#byTransaction.get(transaction)
  }

  /** Undefined if the nonce was used before. */
  transfer(authorization: AuthorizationFields): LedgerTransfer | undefined {
    const { nonce } = authorization
    if (this.#byNonce.has(nonce)) return undefined
    const account = this.accounts.get(authorization.from.toLowerCase())
    if (account?.balance !== undefined) account.balance -= Number(authorization.value)
    const transaction = `0x${createHash('sha256').update(nonce).digest('hex')}`
    const transfer = { authorization, transaction, block: this.newestBlock.number }
    this.#byNonce.set(nonce, transfer)
    this.#byTransaction.set(transaction, transfer)
    return transfer
  }
}

/** `timestamp` is in seconds. */
export function blockAt(number: number) {
  return { number, hash: `0xb1${number.toString(16).padStart(62, '0')}`, timestamp: number * BLOCK_SECONDS }
}
