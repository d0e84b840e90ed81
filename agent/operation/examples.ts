/** Example inputs. They appear in the agent card, the help text and the documents, and every transport accepts them. */
import type { OperationName } from './schema.ts'

/** The first example of each operation is the shortest; the others show optional fields. */
export const EXAMPLE_INPUTS = {
  lookup: [{ company_number: '00000000' }, { company_number: '104547' }],
  search: [
    { q: 'example trading', limit: 5 },
    { q: 'example trading', status: 'Normal', eircode: 'D02 X285' },
  ],
  resolve: [
    { name: 'Example Trading Ltd', eircode: 'D02 X285' },
    { name: 'Example Trading Ltd', company_number: '999999' },
    { name: 'Example Trading Ltd', address: '1 Sample Street' },
  ],
} as const satisfies Record<OperationName, readonly object[]>

/** The examples of an operation as the JSON data of an A2A data part. */
export function exampleParts(operation: OperationName): string[] {
  return EXAMPLE_INPUTS[operation].map((input) => JSON.stringify({ operation, input }))
}
