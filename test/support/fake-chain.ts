/** A chain whose state a test states for each payment. */
import type { Observation } from '../../agent/chain/observe.ts'
import type { ObservedPayment, PaymentState } from '../../agent/chain/view.ts'

/** Enough for every price. */
const BALANCE = 1_000_000n

/** A payer without code, with money and with a free nonce, unless stated otherwise. */
export type FakeState = Partial<Omit<PaymentState, 'recordedHash'>> & {
  /** The time of the newest block in seconds, if it differs from the clock. */
  time?: bigint
}

/** An observation at this time, in a block whose number is the time in seconds, so that a second is a block. */
export function observationOf(
  now: Date,
  payments: readonly ObservedPayment[],
  states: readonly FakeState[],
): Observation {
  const time = states[0]?.time ?? BigInt(Math.floor(now.getTime() / 1000))
  return {
    node: 0,
    number: time,
    time,
    anchor: { number: time - 64n, hash: `0x${'b1'.repeat(32)}` },
    payments: payments.map((_, index) => {
      const { codeBytes = 0, balance = BALANCE, isNonceUsed = false } = states[index] ?? {}
      return { codeBytes, balance, isNonceUsed, recordedHash: undefined }
    }),
  }
}
