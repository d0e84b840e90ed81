/**
 * The JSON Schemas of all bodies under the names of contract 2. They are generated from the schemas that the code uses.
 */
import * as z from 'zod'
import { portable } from '../../agent/operation/json-schema.ts'
import {
  candidateSchema,
  companyMemberSchema,
  dataErrorSchema,
  errorSchema,
  fieldSchema,
  matchSignalsSchema,
  pastSchema,
  relatedSchema,
} from '../../agent/operation/result.ts'
import { paymentPayloadSchema } from '../../agent/payment/headers.ts'
import { addressSchema } from '../../agent/payment/accounts.ts'
import type { OperationDefinition } from '../../agent/operation/operation.ts'
import { X402_VERSION, type Terms } from '../../agent/payment/terms.ts'
import { RECEIPT_EXTENSION } from '../../agent/payment/receipt/claims.ts'
import { publicKeySchema } from '../../agent/payment/receipt/verify.ts'
import { companySchema } from '../../store/dataset/company.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { attributionSchema, metadataSchema } from './metadata.ts'

const requirementsSchema = z.strictObject({
  scheme: z.literal('exact'),
  network: z.string(),
  amount: z.string().regex(/^[1-9][0-9]*$/),
  asset: addressSchema,
  payTo: addressSchema,
  maxTimeoutSeconds: z.int().min(1),
  extra: z.strictObject({ name: z.string(), version: z.string() }),
})

const resourceSchema = z.strictObject({
  url: z.string(),
  description: z.string(),
  mimeType: z.string(),
  serviceName: z.string().optional(),
  tags: z.array(z.string()).optional(),
})

/** The decoded `PAYMENT-REQUIRED` header. */
const quoteSchema = z
  .strictObject({
    x402Version: z.literal(X402_VERSION),
    error: z.string(),
    resource: resourceSchema,
    accepts: z.array(requirementsSchema).length(1),
    extensions: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ description: 'The quote: x402 v2 PaymentRequired, equal to the header PAYMENT-REQUIRED.' })

const RECEIPT_DESCRIPTION =
  'An ES256 JWT that binds the answer to its payment, with a key of /.well-known/jwks.json. Its claim answer_digest is ' +
  'sha256: and the SHA-256 of the RFC 8785 form of the answer, so that a third party can check what was delivered.'

/** The decoded `PAYMENT-RESPONSE` header. */
const receiptSchema = z
  .looseObject({
    success: z.boolean(),
    transaction: z.string(),
    network: z.string(),
    extensions: z
      .looseObject({
        [RECEIPT_EXTENSION]: z.object({
          info: z.object({ receipt: z.string().meta({ description: RECEIPT_DESCRIPTION }) }),
        }),
      })
      .optional(),
  })
  .meta({
    description: 'x402 v2 SettlementResponse with the transaction on chain and, after a sale, a signed receipt.',
  })

export function inputName(operation: string): string {
  return `${operation.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Input`
}

const responseSchemas = ({ operations }: Terms): Record<string, z.ZodType> => ({
  Company: companySchema,
  Source: sourceSchema,
  CompanyField: fieldSchema,
  CompanyMember: companyMemberSchema,
  MatchSignals: matchSignalsSchema,
  Related: relatedSchema,
  Past: pastSchema,
  Candidate: candidateSchema,
  ...Object.fromEntries(operations.map(({ answerName, answerSchema }) => [answerName, answerSchema])),
  Metadata: metadataSchema,
  Attribution: attributionSchema,
  Error: errorSchema,
  ErrorResponse: z.strictObject({ error: errorSchema }),
  DataError: dataErrorSchema,
  PaymentRequirements: requirementsSchema,
  Quote: quoteSchema,
  PaymentErrorResponse: quoteSchema.extend({ error: errorSchema }).meta({ description: 'The error and the quote.' }),
  Receipt: receiptSchema,
  KeySet: z.strictObject({
    keys: z.array(publicKeySchema.loose()),
    compromised: z.array(z.strictObject({ kid: z.string(), compromised_at: z.iso.datetime() })),
  }),
  RpcResponse: z.looseObject({ jsonrpc: z.literal('2.0') }),
  /** A document whose format another standard describes. */
  Document: z.looseObject({}),
})

/** The operations whose inputs a batch can have. */
const batchedBy = (definition: OperationDefinition) => (definition.kind === 'batch' ? definition.operations : [])

const requestSchemas = ({ operations }: Terms): Record<string, z.ZodType> => ({
  ...Object.fromEntries(
    [...operations.filter(({ method }) => method === 'POST'), ...operations.flatMap(batchedBy)].map(
      ({ name, inputSchema }) => [inputName(name), inputSchema],
    ),
  ),
  PaymentRequirements: requirementsSchema,
  Payment: paymentPayloadSchema
    .extend({ accepted: requirementsSchema })
    .meta({ description: 'x402 v2 PaymentPayload with one signed EIP-3009 authorization.' }),
  RpcRequest: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
})

type JsonSchema = Record<string, unknown>

export const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` })

export function base64Of(schema: string): JsonSchema {
  return {
    type: 'string',
    contentEncoding: 'base64',
    contentMediaType: 'application/json',
    contentSchema: schemaRef(schema),
  }
}

/** @param examples by name */
export function componentSchemas(terms: Terms, examples: Record<string, object>): Record<string, JsonSchema> {
  const requests = toJsonSchemas(requestSchemas(terms), 'input')
  for (const definition of terms.operations) {
    const anyOf = batchedBy(definition).map(({ name }) => schemaRef(inputName(name)))
    const { inputs } = (requests[inputName(definition.name)]?.['properties'] ?? {}) as Record<string, { items: object }>
    // The schema of a batch has the inputs of its operations itself, because a list of tools has no components.
    if (inputs && anyOf.length > 0) inputs.items = { anyOf }
  }
  const schemas = { ...toJsonSchemas(responseSchemas(terms), 'output'), ...requests }
  for (const [name, example] of Object.entries(examples)) Object.assign(schemas[name] ?? {}, { examples: [example] })
  return schemas
}

/** Converts schemas to JSON Schema. They refer to each other, so that each is defined once. */
function toJsonSchemas(schemas: Record<string, z.ZodType>, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>()
  for (const [name, schema] of Object.entries(schemas)) registry.add(schema, { id: name })
  const { schemas: converted } = z.toJSONSchema(registry, {
    io,
    uri: (id) => schemaRef(id).$ref,
    override: portable,
  })
  // Inside OpenAPI a schema is identified by its path. `$id` would change the base URI.
  const entries = Object.entries(converted).map(([name, { $schema: _schema, $id: _id, ...schema }]) => [name, schema])
  return Object.fromEntries(entries) as Record<string, JsonSchema>
}
