/** Both tables of the reconcile rule, in every combination: evidence to finding, and finding and state to action. */
import { expect } from 'chai'
import { FINDINGS, interpretEvidence, type Finding } from '../../../agent/payments/finding.ts'
import { ACTIONS, type ReconcileAction } from '../../../agent/payments/reconcile.ts'
import type { AuthorizationEvidence } from '../../../agent/payments/chain.ts'
import { RECORD_STATES, TRANSITIONS, type RecordState } from '../../../store/record.ts'
import { BUYER, RECEIVER } from '../../support/records.ts'

const NOW = 1_800_000_000
const END = NOW + 300
const transaction = `0x${'ab'.repeat(32)}`
const transfer = { from: BUYER, to: RECEIVER, value: 1000n, transaction }
const OTHER = '0x00000000000000000000000000000000000000d3'

function found(evidence: AuthorizationEvidence, secondsLeft = END - NOW): Finding {
  return interpretEvidence({
    evidence,
    authorization: { from: BUYER, to: RECEIVER, value: '1000', validAfter: '0', validBefore: String(END), nonce: '0x' },
    requirements: { payTo: RECEIVER, amount: '1000' },
    now: new Date((END - secondsLeft) * 1000),
  })
}

const used = (change: Partial<typeof transfer> = {}, isFinal = true): Finding =>
  found({ nonce: 'used', transfer: { ...transfer, ...change }, isFinal })
const free = (finalTime: number, secondsLeft: number): Finding =>
  found({ nonce: 'free', time: BigInt(END - secondsLeft), finalTime: BigInt(finalTime) }, secondsLeft)

const CASES: [name: string, found: Finding, expected: Finding][] = [
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
  ['used, but no log was found', found({ nonce: 'unclear' }), 'no_evidence'],
  ['free, 15 s left', free(0, 15), 'free'],
  ['free, 14 s left', free(0, 14), 'expiring'],
  ['free, past its end, without a final block past its end', free(END - 1, -9999), 'expiring'],
  ['free, long past its end, without a final block', free(0, -1e6), 'expiring'],
  ['free in a final block at its end', free(END, -1), 'expired_final'],
]

/** By state, in the order of FINDINGS. Written out so that a change of the rule fails here. */
const EXPECTED: Record<Exclude<RecordState, 'settling'>, string> = {
  prepared: 'settled settled wait rejected wait wait expired wait',
  unknown: 'settled settled wait rejected settle wait expired wait',
  settled: 'wait confirmed reopen reopen reopen reopen reopen wait',
  refused: 'settled settled wait rejected wait wait expired wait',
  confirmed: 'wait wait wait wait wait wait wait wait',
  rejected: 'wait wait wait wait wait wait wait wait',
  expired: 'wait wait wait wait wait wait wait wait',
}

/** The state that an action writes. */
const TARGETS: Partial<Record<ReconcileAction, RecordState>> = {
  settle: 'settling',
  reopen: 'unknown',
  settled: 'settled',
  confirmed: 'confirmed',
  rejected: 'rejected',
  expired: 'expired',
}

describe('interpretEvidence', () => {
  for (const [name, is, expected] of CASES) {
    it(`returns ${expected} for an authorization that is ${name}`, () => {
      expect(is).to.equal(expected)
    })
  }
})

describe('the reconcile table', () => {
  const states = RECORD_STATES.filter((state) => state !== 'settling')

  for (const state of states) {
    it(`[5.7.4, 5.7.5] has one action per finding for state ${state}`, () => {
      expect(FINDINGS.map((finding) => ACTIONS[state][finding]).join(' ')).to.equal(EXPECTED[state])
    })
  }

  it('contains only transitions that the log allows', () => {
    for (const state of states) {
      for (const finding of FINDINGS) {
        const target = TARGETS[ACTIONS[state][finding]]
        if (target) expect(TRANSITIONS[state], `${state} ${finding}`).to.include(target)
      }
    }
  })
})
