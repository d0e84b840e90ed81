/** Inputs that every document shows and every door takes as they stand: the card, the help, the guides, the description. */
import type { OperationName } from './schema.ts'

/** The first of each is the shortest; more of them show what else can be given. */
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

/** The data of an A2A part, as JSON, for each example of an operation. */
export function exampleParts(operation: OperationName): string[] {
  return EXAMPLE_INPUTS[operation].map((input) => JSON.stringify({ operation, input }))
}
