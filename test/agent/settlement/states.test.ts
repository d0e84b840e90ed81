/** The two tables of states, walked over every pair of states. */
import { expect } from 'chai'
import { isDenial, STATE_RULES, type Action } from '../../../agent/settlement/states.ts'
import {
  isFinal,
  isIdFree,
  isPaid,
  isVoid,
  mayFollow,
  RECORD_STATES,
  type RecordState,
} from '../../../store/log/states.ts'

/** The state that an action writes. `settle` and the ends of a `settling` record follow its return to `unknown`. */
const TARGETS: Record<Action, RecordState | undefined> = {
  wait: undefined,
  settle: 'settling',
  settled: 'settled',
  confirmed: 'confirmed',
  refused: 'refused',
  reopen: 'unknown',
  retract: 'unknown',
  rejected: 'rejected',
  expired: 'expired',
}

/** The states that settlement, chain and retries write over `from`. */
function written(from: RecordState): Set<RecordState> {
  const { isAttempt, moves } = STATE_RULES[from]
  const targets = new Set<RecordState>(isAttempt ? ['settled', 'unknown'] : [])
  if (from === 'settling') return targets
  for (const action of Object.values(moves)) {
    const target = TARGETS[action]
    if (target && !(action === 'settle' && isAttempt)) targets.add(target)
  }
  // The refusal of a first settlement (5.7.15) depends on more than the status of the chain.
  if (from === 'unknown') targets.add('refused')
  return targets
}

const is402 = (state: RecordState) => !['answer', 'outcome_unknown'].includes(STATE_RULES[state].buyer)

describe('[5.7.4] the states of a record', () => {
  for (const from of RECORD_STATES)
    for (const to of RECORD_STATES)
      it(`${from} -> ${to} is allowed exactly if a settlement, the chain or a retry writes it`, () => {
        expect(mayFollow(from, to)).to.equal(written(from).has(to))
        if (!mayFollow(from, to)) return
        const [before, after] = [STATE_RULES[from].buyer, STATE_RULES[to].buyer]
        expect(before === 'answer' && is402(to), 'an answer becomes a 402').to.equal(false)
        expect(is402(from) && after === 'outcome_unknown', 'a 402 becomes unknown').to.equal(false)
        expect(isFinal(from) && to !== 'settled', 'a final state has another end').to.equal(false)
      })

  for (const state of RECORD_STATES) {
    const { buyer, observeAfterMs, isAttempt, moves } = STATE_RULES[state]

    it(`${state} means the same in both tables`, () => {
      expect(buyer === 'answer').to.equal(isPaid(state))
      expect(is402(state)).to.equal(isIdFree(state))
      expect(observeAfterMs !== undefined).to.equal(buyer === 'outcome_unknown' || isVoid(state))
      expect(isAttempt === true && buyer !== 'outcome_unknown').to.equal(false)
    })

    it(`${state} is ended only by two observations, and by a final block`, () => {
      for (const [status, action] of Object.entries(moves)) {
        if (is402(TARGETS[action] ?? state) && action !== 'wait') expect(isDenial(action), status).to.equal(true)
        if (TARGETS[action] && isFinal(TARGETS[action])) expect(status).to.match(/_final$/)
      }
    })
  }
})
