/**
 * The arguments of a tool as models send them, as the input of its operation: an empty text and null are absent, a
 * whole number is its digits, and JSON text of a list is the list (contract 10.5). Runs in browsers too.
 */
import { parseJson } from '../../base/read-body.ts'
import { parseCount } from './fields.ts'
import { toJsonSchema } from './json-schema.ts'
import type { OperationDefinition } from './operation.ts'

/** What the schema of the operation refuses stays as it is. */
export function readToolArguments(definition: OperationDefinition, given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  const types = memberTypes(definition)
  const present = Object.entries(given).filter(([, value]) => value !== null && value !== '')
  const input: Record<string, unknown> = Object.fromEntries(
    present.map(([name, value]) => [name, readMember(types.get(name), value)]),
  )
  if (definition.kind !== 'batch' || !Array.isArray(input['inputs'])) return input
  const item = definition.operations.find(({ name }) => name === input['operation'])
  return item ? { ...input, inputs: input['inputs'].map((each) => readToolArguments(item, each)) } : input
}

function readMember(type: unknown, value: unknown): unknown {
  if (type === 'integer') return typeof value === 'string' ? parseCount(value) : value
  if (type !== 'array') return toText(value)
  const list = typeof value === 'string' ? parseJson(value) : value
  return Array.isArray(list) ? list.map(toText) : value
}

/** A number that JSON does not represent exactly is refused: it is not the one that was meant. */
const toText = (value: unknown): unknown => (Number.isSafeInteger(value) ? String(value) : value)

const known = new WeakMap<OperationDefinition, ReadonlyMap<string, unknown>>()

/** The types of the members, as their JSON Schema names them. */
function memberTypes(definition: OperationDefinition): ReadonlyMap<string, unknown> {
  const types = known.get(definition)
  if (types) return types
  const { properties = {} } = toJsonSchema(definition.inputSchema, 'input') as {
    properties?: Record<string, { type?: unknown }>
  }
  const found = new Map(Object.entries(properties).map(([name, { type }]) => [name, type]))
  known.set(definition, found)
  return found
}
