/** What evidence means, and what it does to a record of each state: both tables, line by line, without a chain. */
import { expect } from 'chai'
import { ACTIONS, FINDINGS, judge, type Action, type Finding } from '../../../agent/payments/reconcile.ts'
import type { Evidence } from '../../../agent/payments/chain.ts'
import { STATES, TRANSITIONS, type State } from '../../../store/record.ts'
import { BUYER, RECEIVER } from '../../support/records.ts'

const NOW = 1_800_000_000
const END = NOW + 300
const transaction = `0x${'ab'.repeat(32)}`
const transfer = { from: BUYER, to: RECEIVER, value: 1000n, transaction }
const OTHER = '0x00000000000000000000000000000000000000d3'

function found(evidence: Evidence, secondsLeft = END - NOW): Finding {
  return judge({
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
  ['paid in a final block', used(), 'paid_for_good'],
  ['paid in a block that may go', used({}, false), 'paid'],
  [
    'paid, in another spelling of the addresses',
    used({ from: BUYER.toUpperCase(), to: RECEIVER.toUpperCase() }),
    'paid_for_good',
  ],
  ['paid to another', used({ to: OTHER }), 'spent_for_good'],
  ['paid by another', used({ from: OTHER }), 'spent_for_good'],
  ['paid too little', used({ value: 999n }), 'spent_for_good'],
  ['paid too much', used({ value: 1001n }), 'spent_for_good'],
  ['paid to another in a block that may go', used({ to: OTHER }, false), 'spent'],
  ['cancelled in a final block', found({ nonce: 'cancelled', isFinal: true }), 'spent_for_good'],
  ['cancelled in a block that may go', found({ nonce: 'cancelled', isFinal: false }), 'spent'],
  ['used without a log', found({ nonce: 'unclear' }), 'nothing'],
  ['free, 15 s left', free(0, 15), 'free'],
  ['free, 14 s left', free(0, 14), 'late'],
  ['free, long over, no final block', free(END - 1, -9999), 'late'],
  ['free, a final block at its end', free(END, -1), 'over'],
]

/** By state, in the order of FINDINGS; written out, so that a change of the rule is seen here. */
const EXPECTED: Record<Exclude<State, 'settling'>, string> = {
  prepared: 'settled settled wait rejected wait wait expired wait',
  unknown: 'settled settled wait rejected settle wait expired wait',
  settled: 'wait confirmed forget forget forget forget forget wait',
  refused: 'settled settled wait rejected wait wait expired wait',
  confirmed: 'wait wait wait wait wait wait wait wait',
  rejected: 'wait wait wait wait wait wait wait wait',
  expired: 'wait wait wait wait wait wait wait wait',
}

/** The state that an action asks the log for. */
const TARGETS: Partial<Record<Action, State>> = {
  settle: 'settling',
  forget: 'unknown',
  settled: 'settled',
  confirmed: 'confirmed',
  rejected: 'rejected',
  expired: 'expired',
}

describe('evidence', () => {
  for (const [name, is, expected] of CASES) {
    it(`means "${expected}" when the authorization was ${name}`, () => {
      expect(is).to.equal(expected)
    })
  }

  it('never means an end by the passing of time alone', () => {
    for (const secondsLeft of [14, 0, -1, -1e6]) expect(free(0, secondsLeft)).to.equal('late')
  })
})

describe('what evidence does to a record', () => {
  const states = STATES.filter((state) => state !== 'settling')

  for (const state of states) {
    it(`that is ${state}, by each finding`, () => {
      expect(FINDINGS.map((finding) => ACTIONS[state][finding]).join(' ')).to.equal(EXPECTED[state])
    })
  }

  it('is always a step that the log allows', () => {
    for (const state of states) {
      for (const finding of FINDINGS) {
        const target = TARGETS[ACTIONS[state][finding]]
        if (target) expect(TRANSITIONS[state], `${state} ${finding}`).to.include(target)
      }
    }
  })

  it('is to send a payment only where one was sent and nothing else is known of it', () => {
    const sent = states.filter((state) => FINDINGS.some((finding) => ACTIONS[state][finding] === 'settle'))
    expect(sent).to.deep.equal(['unknown'])
  })

  it('is never an end by a block that may go', () => {
    for (const state of states)
      for (const finding of ['paid', 'spent', 'free', 'late', 'nothing'] as const)
        expect(ACTIONS[state][finding]).to.not.be.oneOf(['confirmed', 'rejected', 'expired'])
  })
})
