/** The operations that the service sells. Everything else takes the list as an argument, with this default. */
import type { z } from 'zod'
import { asOf } from './as-of.ts'
import { changes } from './changes.ts'
import { history } from './history.ts'
import { lookup } from './lookup.ts'
import type { InputFault, Operation, OperationDefinition, Operations } from './operation.ts'
import { resolve } from './resolve.ts'
import { search } from './search.ts'

export const OPERATIONS: Operations = [lookup, search, resolve, history, asOf, changes]

/** Throws for an unknown name. */
export function definitionOf(name: string, operations: Operations = OPERATIONS): OperationDefinition {
  const definition = operations.find((each) => each.name === name)
  if (!definition) throw new Error(`There is no operation ${name}`)
  return definition
}

export type ParsedOperation = { kind: 'valid'; operation: Operation } | { kind: 'invalid'; fault: InputFault }

export function parseOperation(name: string, input: unknown, operations: Operations = OPERATIONS): ParsedOperation {
  const parsed = definitionOf(name, operations).inputSchema.safeParse(input, { reportInput: false })
  if (parsed.success) return { kind: 'valid', operation: { operation: name, input: parsed.data } }
  return { kind: 'invalid', fault: toFault(parsed.error.issues[0]) }
}

function toFault(issue: z.core.$ZodIssue | undefined): InputFault {
  if (issue?.code === 'unrecognized_keys') return { field: null, rule: 'unknown fields are not accepted' }
  const [field] = issue?.path ?? []
  if (typeof field !== 'string')
    return { field: null, rule: issue?.code === 'custom' ? issue.message : 'must be an object' }
  return { field, rule: issue?.message ?? 'is not valid' }
}

/** Example inputs by operation. They appear in the agent card, the help text and the documents. */
export type ExampleInputs = Readonly<Record<string, readonly Record<string, unknown>[]>>

/** A company that the deployment has, and a day on which it had it. */
export interface ExampleCompany {
  company_number: string
  date: string
}

export function buildExamples(example: ExampleCompany | undefined, operations: Operations = OPERATIONS): ExampleInputs {
  return Object.fromEntries(
    operations.map((each) => [each.name, each.examples(example?.company_number, example?.date)]),
  )
}

/** The examples of an operation as the JSON data of an A2A data part. */
export function exampleParts(examples: ExampleInputs, operation: string): string[] {
  return (examples[operation] ?? []).map((input) => JSON.stringify({ operation, input }))
}
