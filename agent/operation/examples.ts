/** Example inputs. They appear in the agent card, the help text and the documents, and every transport accepts them. */
import type { LookupInput, OperationName, ResolveInput } from './schema.ts'

/** At least one input for a search and for a resolve. */
export interface ExampleInputs extends Record<OperationName, readonly object[]> {
  lookup: readonly LookupInput[]
  search: readonly [{ q: string; limit: number }, ...object[]]
  resolve: readonly [ResolveInput, ...ResolveInput[]]
}

/** The first one is the shortest; the others show optional fields. */
export const SEARCH_EXAMPLES: ExampleInputs['search'] = [
  { q: 'example trading', limit: 5 },
  { q: 'example trading', status: 'Normal', eircode: 'D02 X285' },
]

export const RESOLVE_EXAMPLE = { name: 'Example Trading Ltd', eircode: 'D02 X285' }

/** `companyNumber` is a number that the deployment has, or undefined if none is known. */
export function buildExamples(companyNumber: string | undefined): ExampleInputs {
  const byNumber = companyNumber === undefined ? [] : [{ company_number: companyNumber }]
  const byAddress = { name: RESOLVE_EXAMPLE.name, address: '1 Sample Street' }
  return { lookup: byNumber, search: SEARCH_EXAMPLES, resolve: [RESOLVE_EXAMPLE, ...byNumber, byAddress] }
}

/** The examples of an operation as the JSON data of an A2A data part. */
export function exampleParts(examples: ExampleInputs, operation: OperationName): string[] {
  return examples[operation].map((input) => JSON.stringify({ operation, input }))
}
