/** Step 5: checks that the dataset is loaded and fresh, if the operation needs it (contract 3.1). */
import { datasetStatus } from '../../store/catalog.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import type { Operation } from '../operation/schema.ts'
import type { SkillContext } from '../skills/skill.ts'
import { needsDataset } from '../skills/skills.ts'

export function checkReadiness(operation: Operation, context: SkillContext): Refused | undefined {
  if (!needsDataset(operation, context)) return undefined
  if (!context.dataset) return refused({ code: 'dataset_unavailable' })
  return datasetStatus(context.dataset.source, context.now()) === 'stale'
    ? refused({ code: 'dataset_stale' })
    : undefined
}
