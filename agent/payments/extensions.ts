/**
 * The extensions of x402 that a quote declares, as `{info, schema}` under their names: `bazaar`, by which crawlers learn
 * how a resource is asked for, and `payment-identifier`, by which a buyer gives a payment a name of his own.
 */
import { z } from 'zod'
import { ROUTES } from '../operation/resource.ts'
import type { OperationName } from '../operation/schema.ts'
import type { Terms } from './terms.ts'

const PAYMENT_IDENTIFIER = 'payment-identifier'
const JSON_SCHEMA = 'https://json-schema.org/draft/2020-12/schema'

/** What the extension's own specification says of an id. */
const PAYMENT_ID = { minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' } as const

const paymentIdSchema = z
  .string()
  .min(PAYMENT_ID.minLength)
  .max(PAYMENT_ID.maxLength)
  .regex(new RegExp(PAYMENT_ID.pattern))

/** The block as buyers send it back, with an id or without. */
const paymentIdentifierSchema = z.looseObject({ info: z.looseObject({ id: paymentIdSchema.optional() }) }).optional()

/** The id that a payment bears, if any. */
export function paymentIdOf({ extensions }: { extensions?: Record<string, unknown> | undefined }): string | undefined {
  const block = paymentIdentifierSchema.parse(extensions?.[PAYMENT_IDENTIFIER])
  return block?.info.id
}

/** Whether the extensions of a payment that mean something to us are in order. */
export function areExtensionsValid(extensions: Record<string, unknown>): boolean {
  return paymentIdentifierSchema.safeParse(extensions[PAYMENT_IDENTIFIER]).success
}

/** Never required: without an id a payment is known by its authorization alone. */
const paymentIdentifier = {
  info: { required: false },
  schema: {
    $schema: JSON_SCHEMA,
    type: 'object',
    properties: { required: { type: 'boolean' }, id: { type: 'string', ...PAYMENT_ID } },
    required: ['required'],
  },
}

const text = { type: 'string' } as const

/** How each operation is asked for: where its input goes, a request that works, and the shape of it. */
const INPUTS = {
  lookup: {
    place: 'pathParams',
    example: ({ mode }: Terms) => ({ company_number: mode === 'testnet' ? '00000000' : '249885' }),
    properties: { company_number: text },
    required: ['company_number'],
    more: { routeTemplate: `${ROUTES.lookup.path}/:company_number` },
  },
  search: {
    place: 'queryParams',
    example: () => ({ q: 'ryanair', limit: '5' }),
    properties: { q: text, limit: text, status: text, eircode: text },
    required: ['q'],
    more: {},
  },
  resolve: {
    place: 'body',
    example: () => ({ name: 'Ryanair Holdings' }),
    properties: { name: text, company_number: text, eircode: text, address: text },
    required: [],
    more: {},
  },
} as const

function bazaar(terms: Terms, operation: OperationName) {
  const { place, example, properties, required, more } = INPUTS[operation]
  const { method } = ROUTES[operation]
  const bodyType = place === 'body' ? { bodyType: 'json' } : {}
  const constant = (value: string) => ({ type: 'string', const: value })
  const inputProperties = {
    type: constant('http'),
    method: constant(method),
    ...(place === 'body' && { bodyType: constant('json') }),
    [place]: { type: 'object', properties, ...(required.length > 0 && { required }) },
  }
  return {
    info: {
      input: { type: 'http', method, ...bodyType, [place]: example(terms) },
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
    ...more,
  }
}

export function extensionsOf(terms: Terms, operation: OperationName) {
  return { bazaar: bazaar(terms, operation), [PAYMENT_IDENTIFIER]: paymentIdentifier }
}
