/** How many of the possible changes of a record the runs had, so that a faster simulation does not become a weaker one. */
import { RECORD_STATES, TRANSITIONS, isFinal } from '../../../store/log/record.ts'

/** Every change of a record, as the simulated log counts it. */
export const CHANGES: readonly string[] = [
  'none -> prepared',
  ...RECORD_STATES.flatMap((state) => TRANSITIONS[state].map((next) => `${state} -> ${next}`)),
  ...RECORD_STATES.filter(isFinal).map((state) => `${state} -> removed`),
]

export interface Coverage {
  /** The changes that no run had. */
  missing: string[]
  /** Kinds of faults that some run had. */
  faults: number
}

export function coverageOf(seen: ReadonlyMap<string, number>): Coverage {
  return {
    missing: CHANGES.filter((change) => !seen.has(`state ${change}`)),
    faults: [...seen.keys()].filter((name) => name.startsWith('fault ')).length,
  }
}
