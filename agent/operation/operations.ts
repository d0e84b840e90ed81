/** The operations that the service sells. Everything else takes the list as an argument, with this default. */
import { asOf } from './as-of.ts'
import { batchOf } from './batch.ts'
import { changes } from './changes.ts'
import { history } from './history.ts'
import { lookup } from './lookup.ts'
import { parseInput, type Operation, type OperationDefinition, type Operations } from './operation.ts'
import { resolve } from './resolve.ts'
import { search } from './search.ts'

const SINGLE = [lookup, search, resolve, history, asOf, changes]

export const OPERATIONS: Operations = [...SINGLE, batchOf(SINGLE)]

/** Throws for an unknown name. */
export function definitionOf(name: string, operations: Operations = OPERATIONS): OperationDefinition {
  const definition = operations.find((each) => each.name === name)
  if (!definition) throw new Error(`There is no operation ${name}`)
  return definition
}

type ParsedOperation =
  { kind: 'valid'; operation: Operation } | Extract<ReturnType<typeof parseInput>, { kind: 'invalid' }>

export function parseOperation(name: string, input: unknown, operations: Operations = OPERATIONS): ParsedOperation {
  const parsed = parseInput(definitionOf(name, operations), input)
  if (parsed.kind === 'invalid') return parsed
  const operation: Operation = { operation: name, input: parsed.input }
  return { kind: 'valid', operation }
}

/** The items of a batch. Any other operation is its own only item. */
export function itemsOf(operation: Operation, operations: Operations = OPERATIONS): readonly Operation[] {
  const definition = definitionOf(operation.operation, operations)
  return definition.kind === 'batch' ? definition.items(operation.input) : [operation]
}

/** Example inputs by operation. They appear in the agent card, the help text and the documents. */
export type ExampleInputs = Readonly<Record<string, readonly Record<string, unknown>[]>>

/** A company for the examples, and a day on which the register had it. */
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
