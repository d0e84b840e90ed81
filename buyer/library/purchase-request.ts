/**
 * Builds the HTTP request of an operation, over REST or A2A. It is saved and repeated byte for byte. Also checks that
 * an answer belongs to the operation.
 */
import * as z from 'zod'
import { fetchDocument, type Fetch } from '../../base/bounded-fetch.ts'
import { A2A_VERSION, isA2aVersion, FREE_PATHS } from '../../agent/operation/endpoints.ts'
import { parseOperation, toNamed, type Operation, type Operations } from '../../agent/operation/operation.ts'
import { parseResourceUrl, resourceUrl } from '../../agent/operation/resource.ts'
import { operationDigest } from '../../base/canonical.ts'
import { parseJson } from '../../base/read-body.ts'
import { parseUrl } from '../../base/url-policy.ts'

export const purchaseRequestSchema = z.strictObject({
  method: z.enum(['GET', 'POST']),
  url: z.url(),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
})

export type PurchaseRequest = z.infer<typeof purchaseRequestSchema>

/** Printable ASCII, because both URLs are sent in the head of a request. */
const httpUrl = z.url({ protocol: /^https?$/ }).regex(/^[!-~]+$/)

/** The members of an agent card that the client reads (A2A 1.0 section 4.4). */
const cardSchema = z.object({
  supportedInterfaces: z.array(z.object({ url: httpUrl, protocolBinding: z.string(), protocolVersion: z.string() })),
  capabilities: z.object({ extensions: z.array(z.object({ uri: httpUrl })).min(1) }),
})

/**
 * The base URL of a service. Also takes the URL of its MCP server, which directories list.
 * @throws an error for any other URL
 */
export function toBaseUrl(text: string): string {
  const url = parseUrl(text)
  if (url && /^https?:$/.test(url.protocol) && url.href.replace(/\/+(?:mcp\/*)?$/, '') === url.origin) return url.origin
  throw new Error('The URL of a service is http:// or https:// and a host, with nothing after it')
}

export function restRequest(baseUrl: string, operation: Operation): PurchaseRequest {
  const url = resourceUrl(baseUrl, operation)
  const { method } = operation.definition
  if (method === 'GET') return { method, url, headers: {}, body: null }
  return { method, url, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(operation.input) }
}

const a2aBodySchema = z.object({
  params: z.object({ message: z.object({ parts: z.tuple([z.object({ data: z.unknown() })]) }) }),
})
const operationSchema = z.object({ operation: z.string(), input: z.unknown() })

/** The operation that a saved request asks for. Undefined if it is no request of a paid operation. */
export function requestedOperation({ url, body }: PurchaseRequest, operations: Operations): Operation | undefined {
  const named = parseResourceUrl(new URL(url), operations)
  if (named?.operation) return named.operation
  const json = parseJson(body ?? '')
  const overA2a = a2aBodySchema.safeParse(json).data?.params.message.parts[0].data
  const asked = operationSchema.safeParse(named ? { operation: named.definition.name, input: json } : overA2a).data
  const definition = operations.find(({ name }) => name === asked?.operation)
  const parsed = definition && parseOperation(definition, asked?.input)
  return parsed?.kind === 'valid' ? parsed.operation : undefined
}

/**
 * Whether an answer belongs to the operation, which a receipt does not prove. False if the answer has another
 * form, another company than the requested number, or another query.
 */
export function answersOperation({ definition, input }: Operation, answer: unknown): boolean {
  const parsed = definition.answerSchema.safeParse(answer)
  return parsed.success && definition.isAnswerTo(input, parsed.data)
}

/**
 * Reads the URL for messages and the payment extension from the agent card.
 * @param a2aUrl the URL for messages that the user has named. Without it, the URL of the card must have the origin of
 * the service, because a card can name any URL
 */
export async function a2aRequest(
  { baseUrl, a2aUrl }: { baseUrl: string; a2aUrl?: string | undefined },
  operation: Operation,
  fetch: Fetch,
): Promise<PurchaseRequest> {
  const card = await fetchDocument(fetch, `${baseUrl}${FREE_PATHS.agentCard}`, cardSchema)
  const endpoint = card.supportedInterfaces.find(
    (each) => each.protocolBinding === 'JSONRPC' && isA2aVersion(each.protocolVersion),
  )
  const [extension] = card.capabilities.extensions
  if (!endpoint || !extension) throw new Error('The agent card has no A2A 1.0 JSON-RPC interface')
  const url = a2aUrl ?? endpoint.url
  if (a2aUrl === undefined && new URL(url).origin !== new URL(baseUrl).origin) {
    throw new Error(
      `The agent card names an A2A URL of another host, ${url}. Nothing was sent. To use it, add --a2a-url`,
    )
  }
  // The same for an equal operation, so that its purchase is found.
  const messageId = operationDigest(toNamed(operation))
  const message = { messageId, role: 'ROLE_USER', parts: [{ data: toNamed(operation) }] }
  return {
    method: 'POST',
    url,
    headers: { 'Content-Type': 'application/json', 'A2A-Version': A2A_VERSION, 'A2A-Extensions': extension.uri },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  }
}
