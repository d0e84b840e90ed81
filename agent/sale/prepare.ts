/** Step 9: computes the answer from the current snapshot. */
import { StoreError } from '../../store/files/environment.ts'
import type { Report } from '../../store/base/runtime.ts'
import { refused } from '../operation/outcome.ts'
import type { Operation, Operations } from '../operation/operation.ts'
import type { SkillContext } from '../skills/registers.ts'
import { prepareAnswer, type PreparedAnswer } from '../skills/skills.ts'

/** A damaged record or name index is reported and refused, before anything is charged (contract 3.1). */
export function prepare(
  operation: Operation,
  { skill, operations, report }: { skill: SkillContext; operations: Operations; report: Report },
): PreparedAnswer {
  try {
    return prepareAnswer(operation, skill, operations)
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    report('dataset_unreadable', cause)
    return refused({ code: 'dataset_unavailable' })
  }
}
