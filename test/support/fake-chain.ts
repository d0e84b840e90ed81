/** A chain whose state a test states. */
import type { Chain } from '../../agent/settlement/chain/chain.ts'
import type { TransferTrial } from '../../agent/settlement/chain/token.ts'
import type { Observation } from '../../agent/settlement/chain/observe.ts'
import type { ObservedPayment } from '../../agent/settlement/chain/view.ts'

/** Enough for every price. */
const BALANCE = 1_000_000n
const ANCHOR_HASH = `0x${'b1'.repeat(32)}`

/** A payer without code, with money and with a free nonce, unless stated otherwise. */
export type FakeState = Partial<Omit<Observation['payments'][number], 'recordedHash'>> & {
  /** What the token does with a transfer that a refusal is checked with. By default it confirms the refusal. */
  trial?: TransferTrial | undefined
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
    anchor: { number: time - 64n, hash: ANCHOR_HASH },
    trial: states[0]?.trial ?? 'balance',
    payments: payments.map((_, index) => {
      const { codeBytes = 0, balance = BALANCE, isNonceUsed = false } = states[index] ?? {}
      return { codeBytes, balance, isNonceUsed, recordedHash: ANCHOR_HASH }
    }),
  }
}

/** The members of a chain whose clock and only node work. */
export const WORKING = {
  nodeCount: 1,
  isClockWrong: () => false,
  read: () => Promise.reject(new Error('The chain of a sale has no registries')),
  // No log shows a transfer, so each payment is decided on its own.
  findTransfers: async (queries) => queries.map(() => undefined),
} satisfies Partial<Chain>
