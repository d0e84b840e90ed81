/** The table of the functions that answer the operations. */
import { itemsOf, type Operation, type SingleDefinition } from '../operation/operation.ts'
import type { SINGLE_OPERATIONS } from '../operation/operations.ts'
import type { Refused } from '../operation/outcome.ts'
import { answerLookup, answerResolve, answerSearch } from './companies.ts'
import { answerAsOf, answerChanges, answerHistory } from './history.ts'
import { ifReadable, isSynthetic, listStatuses, type AnswerFunction, type AnswerContext } from './registers.ts'

/** Does not compile while an operation of the service has no function. */
const ANSWERS: {
  [Each in (typeof SINGLE_OPERATIONS)[number] as Each['name']]: AnswerFunction<Each>
} = {
  lookup: answerLookup,
  search: answerSearch,
  resolve: answerResolve,
  history: answerHistory,
  as_of: answerAsOf,
  changes: answerChanges,
}

type CheckedAnswer = { kind: 'computed'; answer: { snapshot_id: string } } | Refused

export type PreparedAnswer = { kind: 'prepared'; body: string; snapshotId: string } | Refused

/** Whether the operation needs a loaded and fresh dataset. */
export function needsDataset(operation: Operation, context: Pick<AnswerContext, 'hasSyntheticCompany'>): boolean {
  return itemsOf(operation).some(({ input }) => !isSynthetic(input['company_number'], context))
}

/** What a quote says about an input before anything is paid. Nothing while the names cannot be read. */
export function describeInput({ definition, input }: Operation, context: AnswerContext) {
  if (definition.kind === 'batch') return undefined
  return ifReadable(() => definition.quoteNote?.(input, () => listStatuses(context)))
}

/** Throws when the answer violates its published schema. */
export function computeAnswer(
  { definition, input }: Operation<SingleDefinition>,
  context: AnswerContext,
): CheckedAnswer {
  const answer = ANSWERS[definition.name as keyof typeof ANSWERS] as AnswerFunction<SingleDefinition>
  const computed = answer(input, context)
  if (computed.kind === 'refused') return computed
  return { kind: 'computed', answer: definition.answerSchema.parse(computed.answer) }
}

/** The JSON text that is stored and sold. */
export function prepareAnswer(operation: Operation<SingleDefinition>, context: AnswerContext): PreparedAnswer {
  const computed = computeAnswer(operation, context)
  if (computed.kind === 'refused') return computed
  const { answer } = computed
  return { kind: 'prepared', body: JSON.stringify(answer), snapshotId: answer.snapshot_id }
}
