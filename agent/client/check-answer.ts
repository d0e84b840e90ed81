/** Checks that an answer belongs to the requested operation. A receipt does not prove this. */
import type { Operation, Operations } from '../operation/operation.ts'
import { definitionOf, OPERATIONS } from '../operation/operations.ts'

/** False for an answer of another form, of another company than the requested number, or to another query. */
export function answersOperation(
  { operation, input }: Operation,
  answer: unknown,
  operations: Operations = OPERATIONS,
): boolean {
  const definition = definitionOf(operation, operations)
  const parsed = definition.answerSchema.safeParse(answer)
  return parsed.success && definition.isAnswerTo(input, parsed.data)
}
