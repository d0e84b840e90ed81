/** Computes the answers of operations from a dataset. */
import { StoreError } from '../../store/files/environment.ts'
import type { Operation, Operations } from '../operation/operation.ts'
import { definitionOf, OPERATIONS } from '../operation/operations.ts'
import type { Refused } from '../operation/outcome.ts'
import { openCompanies } from './companies.ts'
import { openHistory } from './history.ts'
import { isSynthetic, type SkillContext } from './registers.ts'

export type PreparedAnswer = { kind: 'prepared'; body: string; snapshotId: string } | Refused

/** Whether the operation needs a loaded and fresh dataset. */
export function needsDataset(
  { operation, input }: Operation,
  context: Pick<SkillContext, 'hasSyntheticCompany'>,
  operations: Operations = OPERATIONS,
): boolean {
  const definition = definitionOf(operation, operations)
  if (definition.kind === 'batch')
    return definition.items(input).some((item) => needsDataset(item, context, operations))
  return !isSynthetic(definition.companyNumber?.(input), context)
}

/** What a quote says about an input before anything is paid. Nothing while the names cannot be read. */
export function describeInput({ operation, input }: Operation, context: SkillContext, operations: Operations) {
  const definition = definitionOf(operation, operations)
  if (definition.kind === 'batch') return undefined
  try {
    return definition.quoteNote?.(input, openCompanies(context))
  } catch (cause) {
    if (cause instanceof StoreError) return undefined
    throw cause
  }
}

/**
 * The JSON text that is stored and sold, of a single operation. Throws when the answer violates its published schema.
 */
export function prepareAnswer(
  { operation, input }: Operation,
  context: SkillContext,
  operations: Operations = OPERATIONS,
): PreparedAnswer {
  const definition = definitionOf(operation, operations)
  if (definition.kind === 'batch') throw new Error('A batch is computed by item')
  const computed = definition.answer(input, { ...openCompanies(context), ...openHistory(context) })
  if (computed.kind === 'refused') return computed
  const checked = definition.answerSchema.parse(computed.answer)
  return { kind: 'prepared', body: JSON.stringify(checked), snapshotId: checked.snapshot_id }
}
