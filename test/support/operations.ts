/** The operations of the service by name, as tests write them. */
import {
  parseOperation,
  type NamedOperation,
  type Operation,
  type OperationDefinition,
  type SingleDefinition,
} from '../../agent/operation/operation.ts'
import { OPERATIONS, SINGLE_OPERATIONS } from '../../agent/operation/operations.ts'

export function definitionOf(name: string): OperationDefinition {
  return found(name, OPERATIONS)
}

/** The definition of an operation that is not a batch. */
export function singleOf(name: string): SingleDefinition {
  return found(name, SINGLE_OPERATIONS)
}

/** The price of a single operation on testnet, in micro-USDC. */
export const priceOf = (name: string): number => singleOf(name).prices.testnet

export function parseNamed(name: string, input: unknown) {
  return parseOperation(definitionOf(name), input)
}

/** The operation with this input, which must be in canonical form. */
export function operationOf({ operation, input }: NamedOperation): Operation {
  return { definition: definitionOf(operation), input }
}

function found<Definition extends OperationDefinition>(name: string, all: readonly Definition[]): Definition {
  const definition = all.find((each) => each.name === name)
  if (!definition) throw new Error(`There is no operation ${name}`)
  return definition
}
