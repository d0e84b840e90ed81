/**
 * Every combination of inputs of the decision: the chain status of each nonce, and the action for state, status and
 * cause.
 */
import { expect } from 'chai'
import { decide, interpretNonce, type NonceState } from '../../../agent/settlement/decide.ts'
import { CHAIN_STATUSES } from '../../../agent/settlement/states.ts'
import type { ResponseRecord } from '../../../store/log/record.ts'
import { RECORD_STATES, type RecordState } from '../../../store/log/states.ts'
import type { TransferTrial } from '../../../agent/settlement/chain/token.ts'
import { BUYER, makeRecord, RECEIVER } from '../../support/records.ts'

type Action = ReturnType<typeof decide>
type Cause = 'request' | 'reconciler'

const NOW = 1_800_000_000
const END = NOW + 300
const transaction = `0x${'ab'.repeat(32)}`
const transfer = { from: BUYER, to: RECEIVER, value: 1000n, transaction }
const OTHER = '0x00000000000000000000000000000000000000d3'

type ChainStatus = (typeof CHAIN_STATUSES)[number]

function found(nonceState: NonceState, secondsLeft = END - NOW): ChainStatus {
  return interpretNonce({
    nonceState,
    authorization: { from: BUYER, to: RECEIVER, value: '1000', validAfter: '0', validBefore: String(END), nonce: '0x' },
    requirements: { payTo: RECEIVER, amount: '1000' },
    now: new Date((END - secondsLeft) * 1000),
  })
}

const used = (change: Partial<typeof transfer> = {}, isFinal = true): ChainStatus =>
  found({ nonce: 'used', transfer: { ...transfer, ...change }, isFinal })
const free = (finalTime: number, secondsLeft: number): ChainStatus =>
  found({ nonce: 'free', time: BigInt(END - secondsLeft), finalTime: BigInt(finalTime) }, secondsLeft)

const CASES: [name: string, found: ChainStatus, expected: ChainStatus][] = [
  ['paid in a final block', used(), 'paid_final'],
  ['paid in a block that is not final', used({}, false), 'paid'],
  ['paid, with addresses in upper case', used({ from: BUYER.toUpperCase(), to: RECEIVER.toUpperCase() }), 'paid_final'],
  ['paid to another receiver', used({ to: OTHER }), 'spent_final'],
  ['paid by another payer', used({ from: OTHER }), 'spent_final'],
  ['paid too little', used({ value: 999n }), 'spent_final'],
  ['paid too much', used({ value: 1001n }), 'spent_final'],
  ['paid to another receiver in a block that is not final', used({ to: OTHER }, false), 'spent'],
  ['cancelled in a final block', found({ nonce: 'cancelled', isFinal: true }), 'spent_final'],
  ['cancelled in a block that is not final', found({ nonce: 'cancelled', isFinal: false }), 'spent'],
  ['used, but no log was found', found({ nonce: 'unclear' }), 'unclear'],
  ['free, 15 s left', free(0, 15), 'free'],
  ['free, 14 s left', free(0, 14), 'expiring'],
  ['free, past its end, without a final block past its end', free(END - 1, -9999), 'expiring'],
  ['free, long past its end, without a final block', free(0, -1e6), 'expiring'],
  ['free in a final block at its end', free(END, -1), 'expired_final'],
]

/** NonceState for each chain status, five minutes after the records were written. */
const NONCES: Record<ChainStatus, { nonceState: NonceState; secondsLeft?: number }> = {
  paid: { nonceState: { nonce: 'used', transfer, isFinal: false } },
  paid_final: { nonceState: { nonce: 'used', transfer, isFinal: true } },
  spent: { nonceState: { nonce: 'cancelled', isFinal: false } },
  spent_final: { nonceState: { nonce: 'cancelled', isFinal: true } },
  free: { nonceState: { nonce: 'free', time: BigInt(NOW), finalTime: 0n } },
  expiring: { nonceState: { nonce: 'free', time: BigInt(NOW), finalTime: 0n }, secondsLeft: 1 },
  expired_final: { nonceState: { nonce: 'free', time: BigInt(END + 1), finalTime: BigInt(END) }, secondsLeft: -1 },
  unclear: { nonceState: { nonce: 'unclear' } },
}

const WAITS = 'wait wait wait wait wait wait wait wait'
const PAID_ONLY = 'settled settled wait wait wait wait wait wait'
const OPEN = 'settled settled wait rejected wait wait expired wait'
const SETTLES = 'settled settled wait rejected settle wait expired wait'
/** By state and cause, in the order of CHAIN_STATUSES. Written out so that a change of the rule fails here. */
const EXPECTED: Record<RecordState, Record<Cause, string>> = {
  prepared: { request: SETTLES, reconciler: OPEN },
  settling: { request: SETTLES, reconciler: SETTLES },
  unknown: { request: SETTLES, reconciler: SETTLES },
  refused: { request: OPEN, reconciler: OPEN },
  settled: {
    request: 'wait confirmed wait wait wait wait wait wait',
    reconciler: 'wait confirmed reopen reopen reopen reopen reopen wait',
  },
  confirmed: { request: WAITS, reconciler: WAITS },
  rejected: { request: PAID_ONLY, reconciler: PAID_ONLY },
  expired: { request: PAID_ONLY, reconciler: PAID_ONLY },
}
const CAUSES: Cause[] = ['request', 'reconciler']

function decideFor(
  state: RecordState,
  chainStatus: ChainStatus,
  cause: Cause,
  change: Partial<ResponseRecord> = {},
  trial?: TransferTrial,
): Action {
  const { nonceState: shown, secondsLeft = END - NOW } = NONCES[chainStatus]
  const nonceState = shown.nonce === 'free' ? { ...shown, trial } : shown
  const earlier = new Date((NOW - 300) * 1000).toISOString()
  const record = makeRecord({ state, validBefore: String(END), prepared_at: earlier, updated_at: earlier, ...change })
  return decide({ record, nonceState, now: new Date((END - secondsLeft) * 1000), cause })
}

describe('interpretNonce', () => {
  for (const [name, is, expected] of CASES) {
    it(`returns ${expected} for an authorization that is ${name}`, () => {
      expect(is).to.equal(expected)
    })
  }
})

describe('decide', () => {
  for (const state of RECORD_STATES)
    for (const cause of CAUSES)
      it(`[5.7.4] has one action for each chain status of a ${state} record, for the cause ${cause}`, () => {
        expect(CHAIN_STATUSES.map((chainStatus) => decideFor(state, chainStatus, cause)).join(' ')).to.equal(
          EXPECTED[state][cause],
        )
      })

  it('[5.7.11] leaves a payment to its buyer from six minutes after its first settlement on', () => {
    for (const [age, reconciler] of [
      [359, 'settle'],
      [360, 'wait'],
    ] as const) {
      const prepared = { prepared_at: new Date((NOW - age) * 1000).toISOString(), validBefore: String(NOW + 3_000) }
      const settling_at = new Date((NOW - 31) * 1000).toISOString()
      expect(decideFor('unknown', 'free', 'reconciler', { ...prepared, settling_at })).to.equal(reconciler)
      expect(decideFor('unknown', 'free', 'request', { ...prepared, settling_at })).to.equal('settle')
    }
  })

  describe('[5.7.15, 5.7.18] after a refusal of the first settlement', () => {
    const at = (seconds: number) => ({ refused_at: new Date((NOW + seconds) * 1000).toISOString() })

    for (const chainStatus of ['free', 'expiring'] as const)
      for (const cause of CAUSES)
        it(`needs a revert in a block after it if the nonce is ${chainStatus}, for the cause ${cause}`, () => {
          const unrefused = decideFor('unknown', chainStatus, cause)
          for (const trial of ['balance', 'signature', 'authorization'] as const) {
            expect(decideFor('unknown', chainStatus, cause, at(-0.001), trial)).to.equal('refused')
            expect(decideFor('unknown', chainStatus, cause, at(0), trial)).to.equal('wait')
            expect(decideFor('unknown', chainStatus, cause, at(1), trial)).to.equal('wait')
            expect(decideFor('unknown', chainStatus, cause, { ...at(-1), attempt: 2 }, trial)).to.equal(unrefused)
          }
          for (const trial of ['made', 'other'] as const)
            expect(decideFor('unknown', chainStatus, cause, at(-1), trial)).to.equal(unrefused)
          expect(decideFor('unknown', chainStatus, cause, at(-1))).to.equal('wait')
        })

    it('decides by the chain if the nonce is used or expired', () => {
      for (const chainStatus of ['paid', 'paid_final', 'spent', 'spent_final', 'expired_final', 'unclear'] as const)
        expect(decideFor('unknown', chainStatus, 'request', at(-1))).to.equal(
          decideFor('unknown', chainStatus, 'request'),
        )
    })
  })

  it('[5.7.4] reopens only in a block after the settlement was recorded', () => {
    const updated = (seconds: number) => ({ updated_at: new Date((NOW + seconds) * 1000).toISOString() })
    expect(decideFor('settled', 'free', 'reconciler', updated(-1))).to.equal('reopen')
    expect(decideFor('settled', 'free', 'reconciler', updated(0))).to.equal('wait')
    // A clock that was ahead has written it.
    expect(decideFor('settled', 'free', 'reconciler', updated(86_400))).to.equal('reopen')
  })
})
