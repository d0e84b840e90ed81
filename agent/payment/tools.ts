/** The tools of the MCP server: one for each operation, and a free one about the service. */
import * as z from 'zod'
import { portable, toJsonSchema } from '../operation/json-schema.ts'
import {
  itemsOf,
  type ExampleCompany,
  type Operation,
  type OperationDefinition,
  type Operations,
} from '../operation/operation.ts'
import type { Refusal } from '../operation/refusal.ts'
import { NO_CONTROLS } from '../operation/fields.ts'
import { search } from '../operation/search.ts'
import { describeStatus } from '../operation/statuses.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { toUsdc, type Terms } from './terms.ts'

export const INFO_TOOL = 'service_info'

/** All tools only read, have the same effect when repeated with the same payment, and read a public register. */
const ANNOTATIONS = { readOnlyHint: true, idempotentHint: true, openWorldHint: true }

/** A client that approves read-only tools without a question must ask before a call that spends money. */
const SPENDING_ANNOTATIONS = { ...ANNOTATIONS, readOnlyHint: false, destructiveHint: false }

/** The result of `service_info` (contract 4.6.2). */
const INFO_SCHEMA: Schema = {
  type: 'object',
  properties: { metadata: { type: ['object', 'null'] }, attribution: { type: 'object' }, guide: { type: 'string' } },
}

interface ToolDefinition {
  name: string
  title: string
  description: string
  inputSchema: { type: 'object' } & Record<string, unknown>
  outputSchema: { type: 'object' } & Record<string, unknown>
  annotations: Record<keyof typeof ANNOTATIONS, boolean>
}

export function operationOf(tool: string, operations: Operations): OperationDefinition | undefined {
  return operations.find((each) => each.tool.name === tool)
}

interface ToolOptions {
  /** Tells the client how a call is paid, if the instructions of the server do not. */
  paymentNote?: string
  /** Whether a call of a paid tool spends money of the user, without another question. */
  spends?: boolean
  /** The status texts of the dataset, if they are known. */
  statuses?: string
  /** The company of the examples, if one is known. */
  example?: ExampleCompany | undefined
}

/** The tools of the service. They name the status texts of the dataset, and one of its companies. */
export function openToolList(terms: Terms, statuses: () => string): () => ToolDefinition[] {
  let listed: { key: string; tools: ToolDefinition[] } | undefined
  return () => {
    const current = { statuses: statuses(), example: terms.example }
    const key = JSON.stringify(current)
    // The list is computed again only after a change, because anyone can request it.
    if (listed?.key !== key) listed = { key, tools: listTools(terms, current) }
    return listed.tools
  }
}

export function listTools(
  terms: Pick<Terms, 'network' | 'mode' | 'operations'>,
  { paymentNote, spends = false, statuses = '', example }: ToolOptions = {},
): ToolDefinition[] {
  const described: Described = new Map()
  const paid = terms.operations.map((operation): ToolDefinition => {
    const { name, title, bestFor, notFor, charge } = operation.tool
    const [input] = example ? operation.examples(example) : []
    const shown = input ? [`Example: ${JSON.stringify(input)}.`] : []
    const uses = [`Best for ${bestFor}.`, `Not for ${notFor}.`]
    return {
      name,
      title,
      description: [...uses, describePrice(operation, terms), charge, ...shown, paymentNote].filter(Boolean).join(' '),
      // The first tool with a status lists them.
      inputSchema: withStatuses(inputSchema(operation), operation.name === search.name ? statuses : ''),
      outputSchema: outputSchema(operation, described),
      annotations: spends ? SPENDING_ANNOTATIONS : ANNOTATIONS,
    }
  })
  return [
    ...paid,
    {
      name: INFO_TOOL,
      title: 'About this service',
      description: 'Best for prices, receiver of payments, state of the dataset and the attribution to show. Free.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      outputSchema: INFO_SCHEMA,
      annotations: ANNOTATIONS,
    },
  ]
}

function describePrice(operation: OperationDefinition, { network, mode }: Pick<Terms, 'network' | 'mode'>): string {
  if (operation.kind === 'batch') return `The sum of the prices of its items, in USDC on ${network}.`
  return `${toUsdc(operation.prices[mode])} USDC on ${network}.`
}

/** The refusal of a batch whose answer would be longer than clients of MCP show to a model (contract 4.11.1). */
export function refuseLongBatch(operation: Operation): Refusal | undefined {
  if (operation.definition.kind !== 'batch') return undefined
  const items = itemsOf(operation)
  const { name = '', toolInputsMax = 0 } = items[0]?.definition ?? {}
  if (items.length <= toolInputsMax) return undefined
  return { code: 'invalid_body', detail: `inputs must have at most ${toolInputsMax} inputs of ${name} over MCP` }
}

function withStatuses(schema: Schema, statuses: string): Schema {
  const properties = schema['properties'] as Record<string, { description?: string }> | undefined
  const member = properties?.['status']
  if (!member || statuses === '') return schema
  const status = { ...member, description: describeStatus(member.description, statuses) }
  return { ...schema, properties: { ...properties, status } }
}

type Schema = ToolDefinition['inputSchema']

function inputSchema(definition: OperationDefinition): Schema {
  const schema = toJsonSchema(definition.inputSchema, 'input', (context) => {
    portable(context)
    // Every text has it, and models do not send control characters.
    if (context.jsonSchema.pattern === NO_CONTROLS) delete context.jsonSchema.pattern
  }) as Schema & { properties: Record<string, object> }
  if (definition.kind !== 'batch') return schema
  const tools = definition.operations.map(({ tool }) => tool.name).join(', ')
  const items = { type: 'object', description: `As the input of the tool of the operation: ${tools}.` }
  Object.assign(schema.properties['inputs'] ?? {}, definition.toolInputs, { items })
  return schema
}

/** The objects that the output schema of an earlier tool describes, with the name of that tool. */
type Described = Map<unknown, string>

/**
 * Names the members of an answer, each object once in a list of tools, because models read all of it. Requires nothing:
 * strict clients refuse a `structuredContent` that does not match, also that of a quote or a refusal.
 */
function outputSchema({ answerSchema, tool }: OperationDefinition, described: Described): Schema {
  const own: Described = new Map()
  const answer = toJsonSchema(answerSchema, 'output', (context) => {
    portable(context)
    const { zodSchema, jsonSchema } = context
    if (!(zodSchema instanceof z.ZodObject)) return
    own.set(zodSchema, tool.name)
    const earlier = described.get(zodSchema)
    if (earlier === undefined || (zodSchema as unknown) === answerSchema) return
    for (const name of Object.keys(jsonSchema)) delete jsonSchema[name]
    Object.assign(jsonSchema, { type: 'object', description: `as in ${earlier}` })
  }) as Shape
  for (const [object, name] of own) if (!described.has(object)) described.set(object, name)
  const members = Object.entries(answer.properties ?? {}).map(([name, shape]) => {
    const { type } = shape
    // A refusal has no company.
    const types = name === 'company' ? ['object', 'null'] : type
    const named = name === 'source' && described.get(sourceSchema) !== tool.name ? '' : membersOf(shape)
    return [name, { ...(types && { type: types }), ...(named !== '' && { description: named }) }]
  })
  // A quote has the reason as text, and a refusal an object.
  return { type: 'object', properties: { ...Object.fromEntries(members), error: { type: ['object', 'string'] } } }
}

interface Shape {
  type?: string | string[]
  description?: string
  properties?: Record<string, Shape>
  items?: Shape
  anyOf?: Shape[]
}

/** The names of the members of an object, or of the objects of a list. */
function membersOf({ properties, items, anyOf, description = '' }: Shape): string {
  if (items) return membersOf(items)
  if (anyOf) return [...new Set(anyOf.map(membersOf))].filter(Boolean).join(' or ')
  if (!properties) return description.startsWith('as in ') ? description : ''
  return `{${Object.entries(properties)
    .map(([name, shape]) => [name, membersOf(shape)].filter(Boolean).join(' '))
    .join(', ')}}`
}
