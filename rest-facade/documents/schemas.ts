/** Every body the service sends or takes, as JSON Schema under the names of spec 2: made from the schemas the code runs on. */
import { z } from 'zod'
import {
  candidateSchema,
  companyResponseSchema,
  matchSignalsSchema,
  resolveResponseSchema,
  searchResponseSchema,
  snapshotIdSchema,
} from '../../agent/operation/result.ts'
import { REFUSALS, type RefusalCode } from '../../agent/operation/refusal.ts'
import { INPUT_SCHEMAS } from '../../agent/operation/schema.ts'
import { X402_VERSION } from '../../agent/payments/terms.ts'
import { companySchema } from '../../store/company.ts'
import { sourceSchema } from '../../store/source.ts'
import { REGISTRY_SCHEMAS } from './registry-schemas.ts'

const count = z.int().min(0)

/** Spec 2.9. */
const metadataSchema = z.strictObject({
  service: z.string(),
  version: z.string(),
  endpoints: z.array(z.string()),
  dataset_status: z.enum(['ready', 'stale']),
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
  row_count: count,
  quarantined_company_count: count,
  rejected_row_count: count,
  imported_at: z.iso.datetime(),
  access: z.strictObject({
    mode: z.enum(['mainnet', 'testnet']),
    network: z.string(),
    asset: z.string(),
    pay_to: z.string(),
    payment_required: z.literal(true),
    price_micro_usdc: count,
    endpoint_prices: z.record(z.string(), count),
    limit_scope: z.literal('shared_origin_service'),
    lookup_limit_per_minute: z.int().min(1),
  }),
})

/** Spec 2.10. */
const attributionSchema = sourceSchema.pick({
  publisher: true,
  dataset_url: true,
  license: true,
  license_url: true,
  notice: true,
})

const errorSchema = z.strictObject({
  code: z.enum(Object.keys(REFUSALS) as RefusalCode[]).meta({ description: 'Stable; switch on this.' }),
  message: z.string().meta({ description: 'For people. It never repeats what was sent.' }),
})

const errorResponseSchema = z.strictObject({ error: errorSchema })

/** Spec 2.8. */
const dataErrorSchema = z.strictObject({
  company: z.null(),
  error: errorSchema,
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
})

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const requirementsSchema = z.strictObject({
  scheme: z.literal('exact'),
  network: z.string(),
  amount: z.string().regex(/^[1-9][0-9]*$/),
  asset: address,
  payTo: address,
  maxTimeoutSeconds: z.int().min(1),
  extra: z.strictObject({ name: z.string(), version: z.string() }),
})

const resourceSchema = z.strictObject({ url: z.string(), description: z.string(), mimeType: z.string() })

/** The decoded `PAYMENT-REQUIRED` header. */
const quoteSchema = z
  .strictObject({
    x402Version: z.literal(X402_VERSION),
    error: z.string(),
    resource: resourceSchema,
    accepts: z.array(requirementsSchema).length(1),
    extensions: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ description: 'The quote: x402 v2 PaymentRequired, the same as in the header PAYMENT-REQUIRED.' })

const paymentErrorSchema = z.strictObject({ error: errorSchema, payment_required: quoteSchema })

/** The decoded `PAYMENT-SIGNATURE` header, as a client makes it. */
const paymentSchema = z
  .looseObject({
    x402Version: z.literal(X402_VERSION),
    accepted: requirementsSchema,
    payload: z.strictObject({
      signature: z.string(),
      authorization: z.strictObject({
        from: address,
        to: address,
        value: z.string(),
        validAfter: z.string(),
        validBefore: z.string(),
        nonce: z.string(),
      }),
    }),
  })
  .meta({ description: 'x402 v2 PaymentPayload with one signed EIP-3009 authorization.' })

/** The decoded `PAYMENT-RESPONSE` header. */
const receiptSchema = z
  .looseObject({ success: z.boolean(), transaction: z.string(), network: z.string() })
  .meta({ description: 'x402 v2 SettlementResponse, with the transaction on chain.' })

const jwksSchema = z.strictObject({
  keys: z.array(
    z.looseObject({
      kty: z.literal('EC'),
      crv: z.literal('P-256'),
      x: z.string(),
      y: z.string(),
      kid: z.string(),
      alg: z.literal('ES256'),
      use: z.literal('sig'),
    }),
  ),
})

const cardSchema = z
  .looseObject({
    name: z.string(),
    description: z.string(),
    version: z.string(),
    supportedInterfaces: z.array(z.looseObject({ url: z.string() })).min(1),
    skills: z.array(z.looseObject({ id: z.string(), name: z.string() })).min(1),
    signatures: z.array(z.strictObject({ protected: z.string(), signature: z.string() })).min(1),
  })
  .meta({ description: 'A2A 1.0 agent card, signed with ES256.' })

const openApiSchema = z
  .looseObject({
    openapi: z.literal('3.1.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    paths: z.looseObject({}),
  })
  .meta({ description: 'This document.' })

const rpcId = z.union([z.string(), z.int()])
const partOf = <Data extends z.ZodType>(data: Data) => z.strictObject({ data, mediaType: z.string().optional() })
const textPartSchema = z.strictObject({ text: z.string(), mediaType: z.string().optional() })
const { lookup, search, resolve } = INPUT_SCHEMAS

const rpcRequestSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: rpcId,
  method: z.literal('SendMessage'),
  params: z.looseObject({
    message: z.looseObject({
      messageId: z.string().min(1).max(128).meta({ description: 'At most 128 bytes.' }),
      role: z.literal('ROLE_USER'),
      parts: z
        .array(
          z.union([
            textPartSchema,
            partOf(
              z.discriminatedUnion('operation', [
                z.strictObject({ operation: z.literal('lookup'), input: lookup }),
                z.strictObject({ operation: z.literal('search'), input: search }),
                z.strictObject({ operation: z.literal('resolve'), input: resolve }),
              ]),
            ),
          ]),
        )
        .length(1),
    }),
  }),
})

const rpcMessageSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: rpcId,
  result: z.strictObject({
    message: z.strictObject({
      messageId: z.string(),
      role: z.literal('ROLE_AGENT'),
      parts: z
        .array(
          z.union([
            partOf(companyResponseSchema),
            partOf(searchResponseSchema),
            partOf(resolveResponseSchema),
            textPartSchema,
          ]),
        )
        .length(1),
    }),
  }),
})

/** There are no tasks, and asking for a list of them is no error. */
const rpcTaskListSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: rpcId,
  result: z.strictObject({
    tasks: z.array(z.unknown()).max(0),
    nextPageToken: z.literal(''),
    pageSize: z.int(),
    totalSize: z.literal(0),
  }),
})

const rpcErrorSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: rpcId.nullable(),
  error: z.strictObject({ code: z.int().max(-32000), message: z.string(), data: z.unknown().optional() }),
})

/** What the service sends, by the names of the contract. */
const SENT = {
  Company: companySchema,
  Source: sourceSchema,
  MatchSignals: matchSignalsSchema,
  Candidate: candidateSchema,
  CompanyResponse: companyResponseSchema,
  SearchResponse: searchResponseSchema,
  ResolveResponse: resolveResponseSchema,
  Metadata: metadataSchema,
  Attribution: attributionSchema,
  Error: errorSchema,
  ErrorResponse: errorResponseSchema,
  DataError: dataErrorSchema,
  Quote: quoteSchema,
  PaymentErrorResponse: paymentErrorSchema,
  Receipt: receiptSchema,
  KeySet: jwksSchema,
  AgentCard: cardSchema,
  OpenApiDocument: openApiSchema,
  ...REGISTRY_SCHEMAS,
  RpcMessage: rpcMessageSchema,
  RpcTaskList: rpcTaskListSchema,
  RpcError: rpcErrorSchema,
}

/** What it takes. */
const TAKEN = {
  LookupInput: lookup,
  SearchInput: search,
  ResolveInput: resolve,
  Payment: paymentSchema,
  RpcRequest: rpcRequestSchema,
}

export type SchemaName = keyof typeof SENT | keyof typeof TAKEN

/** JSON Schema as it stands in the description. */
export type JsonSchema = Record<string, unknown>

export const schemaRef = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` })

export function componentSchemas(): Record<SchemaName, JsonSchema> {
  return { ...described(SENT, 'output'), ...described(TAKEN, 'input') }
}

/** Schemas that name one another by reference, so that each is said once. */
function described<Name extends string>(schemas: Record<Name, z.ZodType>, io: 'input' | 'output') {
  const registry = z.registry<{ id: string }>()
  for (const [name, schema] of Object.entries<z.ZodType>(schemas)) registry.add(schema, { id: name })
  const uri = (id: string) => `#/components/schemas/${id}`
  const made = z.toJSONSchema(registry, { io, uri, target: 'draft-2020-12', override: tidy })
  const bare = Object.entries(made.schemas).map(([name, schema]): [string, JsonSchema] => [name, withoutNames(schema)])
  return Object.fromEntries(bare) as Record<Name, JsonSchema>
}

/** The place in the description names a schema; its own names for itself would name another. */
function withoutNames(schema: object): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keyword !== '$schema' && keyword !== '$id'))
}

/** A format says what zod's long pattern of it says. */
function tidy({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema['format'] !== undefined) delete jsonSchema['pattern']
}
