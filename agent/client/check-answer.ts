/** Whether an answer is about what was asked for. A receipt cannot show it: the service signs whatever it answers. */
import { z } from 'zod'
import { companyResponseSchema, resolveResponseSchema, searchResponseSchema } from '../operation/result.ts'
import type { Operation } from '../operation/schema.ts'

const querySchema = z.object({
  query: z.record(z.string(), z.unknown()),
  filters: z.record(z.string(), z.unknown()).optional(),
})

/** False for an answer of another form, of another company than the requested number, or to another query. */
export function answersOperation(operation: Operation, answer: unknown): boolean {
  switch (operation.operation) {
    case 'lookup': {
      const found = companyResponseSchema.safeParse(answer).data
      return found?.company.company_number === operation.input.company_number
    }
    case 'search':
      return searchResponseSchema.safeParse(answer).success && repeatsInput(operation.input, answer)
    case 'resolve': {
      const found = resolveResponseSchema.safeParse(answer).data
      const { company_number: number } = operation.input
      if (!found || !repeatsInput(operation.input, answer)) return false
      return number === undefined || found.candidates.every(({ company }) => company.company_number === number)
    }
  }
}

/** Whether the answer repeats the canonical input (contract 2.6, 10.4). */
function repeatsInput(input: Record<string, unknown>, answer: unknown): boolean {
  const { query = {}, filters = {} } = querySchema.safeParse(answer).data ?? {}
  const stated = { ...query, ...filters }
  return Object.entries(input).every(([name, value]) => value === undefined || stated[name] === value)
}
