/**
 * The x402 extensions that a quote declares: `bazaar` describes the request to crawlers, `payment-identifier` lets a
 * client name a payment. Both have the form `{info, schema}`.
 */
import * as z from 'zod'
import {
  pathMembers,
  queryMembers,
  requiredMembers,
  type Operation,
  type OperationDefinition,
} from '../operation/operation.ts'
import type { Terms } from './terms.ts'

export const PAYMENT_IDENTIFIER = 'payment-identifier'
const JSON_SCHEMA = 'https://json-schema.org/draft/2020-12/schema'

/** The limits in the specification of the extension. */
const PAYMENT_ID = { minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' } as const

const paymentIdSchema = z
  .string()
  .min(PAYMENT_ID.minLength)
  .max(PAYMENT_ID.maxLength)
  .regex(new RegExp(PAYMENT_ID.pattern))

/** The extensions of a payment: those of the quote, with or without a payment id. Ignores unknown extensions. */
export const sentExtensionsSchema = z.object({
  [PAYMENT_IDENTIFIER]: z.object({ info: z.object({ id: paymentIdSchema.optional() }) }).optional(),
})

/** Declared as not required, because the authorization alone identifies a payment. */
const paymentIdentifier = {
  info: { required: false },
  schema: {
    $schema: JSON_SCHEMA,
    type: 'object',
    properties: { required: { type: 'boolean' }, id: { type: 'string', ...PAYMENT_ID } },
    required: ['required'],
  },
}

/** Where the members of an input are in the request, as `bazaar` names it. */
function locate(definition: OperationDefinition): [location: string, members: string[]][] {
  if (definition.method === 'POST') return [['body', Object.keys(definition.inputSchema.shape)]]
  const locations: [string, string[]][] = [
    ['pathParams', pathMembers(definition)],
    ['queryParams', queryMembers(definition)],
  ]
  return locations.filter(([, members]) => members.length > 0)
}

/** Members of an answer that the example of a quote shows: few, because clients repeat the quote in the payment. */
const SHOWN_MEMBERS = [
  'company_number',
  'legal_name',
  'status',
  'match',
  'candidates',
  'company',
  'versions',
  'body',
].concat('changes', 'kind', 'results', 'http_status')

/** The beginning of the example answer: its first two members, and of a list the first item. */
function exampleOutput(answer: object): object {
  const shown = JSON.stringify(answer, SHOWN_MEMBERS)
  const first = (_name: string, value: unknown): unknown => (Array.isArray(value) ? value.slice(0, 1) : value)
  const members = Object.entries(JSON.parse(shown, first) as object)
  return Object.fromEntries(members.slice(0, 2))
}

function buildBazaar(mode: Terms['mode'], { definition, input: exampleInput }: Operation) {
  const { method, path } = definition
  const example: Record<string, unknown> = { ...exampleInput }
  if (method === 'GET') for (const [name, value] of Object.entries(example)) example[name] = String(value)
  const required = requiredMembers(definition)
  const constants = { type: 'http', method, ...(method === 'POST' && { bodyType: 'json' }) }
  const input: Record<string, unknown> = { ...constants }
  const properties: Record<string, object> = {}
  for (const [name, value] of Object.entries(constants)) properties[name] = { type: 'string', const: value }
  for (const [location, members] of locate(definition)) {
    const needed = required.filter((name) => members.includes(name))
    const types = members.map((name) => [name, { type: Array.isArray(example[name]) ? 'array' : 'string' }])
    input[location] = Object.fromEntries(Object.entries(example).filter(([name]) => members.includes(name)))
    properties[location] = {
      type: 'object',
      properties: Object.fromEntries(types),
      ...(needed.length > 0 && { required: needed }),
    }
  }
  return {
    info: { input, output: { type: 'json', example: exampleOutput(definition.exampleAnswer(mode)) } },
    schema: {
      $schema: JSON_SCHEMA,
      type: 'object',
      properties: {
        input: { type: 'object', properties, required: Object.keys(properties) },
        output: { type: 'object' },
      },
      required: ['input'],
    },
    ...(path.includes('{') && { routeTemplate: path.replace(/\{(\w+)\}/g, ':$1') }),
  }
}

/** Without a company for the example there is no `bazaar`. */
export function buildExtensions({ mode, example }: Terms, definition: OperationDefinition) {
  const [input] = example ? definition.examples(example) : []
  return { bazaar: input && buildBazaar(mode, { definition, input }), [PAYMENT_IDENTIFIER]: paymentIdentifier }
}
