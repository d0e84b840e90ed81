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
export const sentExtensionsSchema = z.looseObject({
  [PAYMENT_IDENTIFIER]: z.looseObject({ info: z.looseObject({ id: paymentIdSchema.optional() }) }).optional(),
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

function buildBazaar({ mode }: Terms, definition: OperationDefinition) {
  const { method, path } = definition
  const bodyType = method === 'POST' ? { bodyType: 'json' } : {}
  const constant = (value: string) => ({ type: 'string', const: value })
  const example = definition.quotedExample(mode)
  const required = requiredMembers(definition)
  const locations = locate(definition)
  const describe = (members: string[]) => {
    const needed = required.filter((name) => members.includes(name))
    const properties = Object.fromEntries(
      members.map((name) => [name, { type: Array.isArray(example[name]) ? 'array' : 'string' }]),
    )
    return { type: 'object', properties, ...(needed.length > 0 && { required: needed }) }
  }
  const show = (members: string[]) =>
    Object.fromEntries(Object.entries(example).filter(([name]) => members.includes(name)))
  const perLocation = <T>(build: (members: string[]) => T) =>
    Object.fromEntries(locations.map(([location, members]) => [location, build(members)]))
  const inputProperties = {
    type: constant('http'),
    method: constant(method),
    ...(method === 'POST' && { bodyType: constant('json') }),
    ...perLocation(describe),
  }
  return {
    info: {
      input: { type: 'http', method, ...bodyType, ...perLocation(show) },
      output: { type: 'json' },
    },
    schema: {
      $schema: JSON_SCHEMA,
      type: 'object',
      properties: {
        input: { type: 'object', properties: inputProperties, required: Object.keys(inputProperties) },
        output: { type: 'object' },
      },
      required: ['input'],
    },
    ...(path.includes('{') && { routeTemplate: path.replace(/\{(\w+)\}/g, ':$1') }),
  }
}

/** Replaces the `{member}` placeholders of the path in JSON text by the values of the input. */
export function fillPlaceholders(json: string, { definition, input }: Operation): string {
  const valueOf = (name: string) => JSON.stringify(String(input[name])).slice(1, -1)
  return pathMembers(definition).reduce((text, name) => text.replace(`{${name}}`, () => valueOf(name)), json)
}

export function buildExtensions(terms: Terms, definition: OperationDefinition) {
  return { bazaar: buildBazaar(terms, definition), [PAYMENT_IDENTIFIER]: paymentIdentifier }
}
