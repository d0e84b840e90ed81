/** Step 5: checks that the dataset is loaded and fresh, if the operation needs it (contract 3.1). */
import { datasetStatus } from '../../store/dataset/catalog.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import type { Operation, Operations } from '../operation/operation.ts'
import type { SkillContext } from '../skills/registers.ts'
import { needsDataset } from '../skills/skills.ts'

export function checkReadiness(
  operation: Operation,
  context: SkillContext,
  operations: Operations,
): Refused | undefined {
  if (!needsDataset(operation, context, operations)) return undefined
  if (!context.dataset) return refused({ code: 'dataset_unavailable' })
  return datasetStatus(context.dataset.source, context.now()) === 'stale'
    ? refused({ code: 'dataset_stale' })
    : undefined
}
