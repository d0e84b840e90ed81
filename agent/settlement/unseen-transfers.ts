/**
 * The successes of facilitators whose transfers this process has not seen on chain. Their nonces are part of the
 * observations of later sales, which costs no call. In memory: a restart forgets them, and the reconciler finds those
 * that are missing.
 */
import type { ResponseRecord } from '../../store/log/record.ts'
import { recordedPayment } from '../payment/recorded-payment.ts'
import type { Observation } from './chain/observe.ts'
import { nonceKey, type NonceKey } from './chain/token.ts'

/** Bounds the memory. */
const TRANSFERS_MAX = 1_000
/** In one observation. More than one, so that they are seen faster than sales add them. */
const OBSERVED_MAX = 2
/** From the first observation of a node after the report. A node can be one block behind that of the facilitator. */
const BLOCKS_MISSING = 2n

interface UnseenTransfer {
  readonly identity: string
  readonly facilitator: string
  readonly nonce: NonceKey
  /** The newest block of the first observation, by node. */
  readonly firstBlocks: Map<number, bigint>
  isMissing: boolean
}

export class UnseenTransfers {
  /** By identity, in the order in which they are observed next. */
  readonly #transfers = new Map<string, UnseenTransfer>()

  /** Called before anything of the success is stored, so that each later observation is after the report. */
  add(record: ResponseRecord, facilitator: string): void {
    if (this.#transfers.size >= TRANSFERS_MAX) return
    const { identity } = record
    const { payment, requirements } = recordedPayment(record)
    const nonce = nonceKey(requirements.asset, payment.payload.authorization)
    this.#transfers.set(identity, { identity, facilitator, nonce, firstBlocks: new Map(), isMissing: false })
  }

  /** Those that the next observation includes. Observations that are made at the same time include others. */
  next(): UnseenTransfer[] {
    const next = [...this.#transfers.values()].slice(0, OBSERVED_MAX)
    for (const transfer of next) {
      this.#transfers.delete(transfer.identity)
      this.#transfers.set(transfer.identity, transfer)
    }
    return next
  }

  /** `states`: what the observation shows of these transfers, in their order. */
  noteObserved(
    transfers: readonly UnseenTransfer[],
    states: Observation['payments'],
    { node, number }: Pick<Observation, 'node' | 'number'>,
  ): void {
    for (const [index, transfer] of transfers.entries()) {
      if (states[index]?.isNonceUsed === true) {
        this.#transfers.delete(transfer.identity)
        continue
      }
      const first = transfer.firstBlocks.get(node) ?? number
      transfer.firstBlocks.set(node, first)
      if (number >= first + BLOCKS_MISSING) transfer.isMissing = true
    }
  }

  /** Whether a success of this facilitator is missing in a block that should have its transfer. */
  isMissing(facilitator: string): boolean {
    return [...this.#transfers.values()].some((each) => each.isMissing && each.facilitator === facilitator)
  }

  forget(identity: string): void {
    this.#transfers.delete(identity)
  }
}
