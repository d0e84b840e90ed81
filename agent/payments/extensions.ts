/**
 * The x402 extensions that a quote declares: `bazaar` describes the request to crawlers, `payment-identifier` lets a client
 * name a payment. Both have the form `{info, schema}`.
 */
import { z } from 'zod'
import { ROUTES } from '../operation/resource.ts'
import type { OperationName } from '../operation/schema.ts'
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

/** The extension as clients send it back, with or without an id. */
const paymentIdentifierSchema = z.looseObject({ info: z.looseObject({ id: paymentIdSchema.optional() }) })

export function readPaymentId({
  extensions,
}: {
  extensions?: Record<string, unknown> | undefined
}): string | undefined {
  const identifier = extensions?.[PAYMENT_IDENTIFIER]
  return identifier === undefined ? undefined : paymentIdentifierSchema.parse(identifier).info.id
}

/** Ignores extensions that the service does not use. */
export function areExtensionsValid(extensions: Record<string, unknown>): boolean {
  const identifier = extensions[PAYMENT_IDENTIFIER]
  return identifier === undefined || paymentIdentifierSchema.safeParse(identifier).success
}

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

const text = { type: 'string' } as const

/** Stands for the company number of the quoted lookup on mainnet, which has no company that always exists. */
export const QUOTED_NUMBER = '{company_number}'

/** Where each operation takes its input (as named by `bazaar`), an example, and the members of the input. */
const INPUTS = {
  lookup: {
    location: 'pathParams',
    example: ({ mode }: Terms) => ({ company_number: mode === 'testnet' ? '00000000' : QUOTED_NUMBER }),
    properties: { company_number: text },
    required: ['company_number'],
    extra: { routeTemplate: `${ROUTES.lookup.path}/:company_number` },
  },
  search: {
    location: 'queryParams',
    example: () => ({ q: 'ryanair', limit: '5' }),
    properties: { q: text, limit: text, status: text, eircode: text },
    required: ['q'],
    extra: {},
  },
  resolve: {
    location: 'body',
    example: () => ({ name: 'Ryanair Holdings' }),
    properties: { name: text, company_number: text, eircode: text, address: text },
    required: [],
    extra: {},
  },
} as const

function buildBazaar(terms: Terms, operation: OperationName) {
  const { location, example, properties, required, extra } = INPUTS[operation]
  const { method } = ROUTES[operation]
  const bodyType = location === 'body' ? { bodyType: 'json' } : {}
  const constant = (value: string) => ({ type: 'string', const: value })
  const inputProperties = {
    type: constant('http'),
    method: constant(method),
    ...(location === 'body' && { bodyType: constant('json') }),
    [location]: { type: 'object', properties, ...(required.length > 0 && { required }) },
  }
  return {
    info: {
      input: { type: 'http', method, ...bodyType, [location]: example(terms) },
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
    ...extra,
  }
}

export function buildExtensions(terms: Terms, operation: OperationName) {
  return { bazaar: buildBazaar(terms, operation), [PAYMENT_IDENTIFIER]: paymentIdentifier }
}
