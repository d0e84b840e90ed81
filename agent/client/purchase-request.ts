/** Builds the HTTP request of an operation, over REST or A2A. It is saved and repeated byte for byte. */
import { z } from 'zod'
import { FREE_PATHS } from '../operation/paths.ts'
import { ROUTES, resourceUrl } from '../operation/resource.ts'
import type { Operation } from '../operation/schema.ts'

export const purchaseRequestSchema = z.strictObject({
  method: z.enum(['GET', 'POST']),
  url: z.url(),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
})

export type PurchaseRequest = z.infer<typeof purchaseRequestSchema>

/** The members of an agent card that the client reads (A2A 1.0 section 4.4). */
const cardSchema = z.object({
  supportedInterfaces: z.array(z.object({ url: z.url(), protocolBinding: z.string(), protocolVersion: z.string() })),
  capabilities: z.object({ extensions: z.array(z.object({ uri: z.string() })).min(1) }),
})

export function restRequest(baseUrl: string, operation: Operation): PurchaseRequest {
  const url = resourceUrl(baseUrl, operation)
  const { method } = ROUTES[operation.operation]
  if (method === 'GET') return { method, url, headers: {}, body: null }
  return { method, url, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(operation.input) }
}

/** Reads the URL for messages and the payment extension from the agent card. */
export async function a2aRequest(
  baseUrl: string,
  operation: Operation,
  fetch: typeof globalThis.fetch,
): Promise<PurchaseRequest> {
  const response = await fetch(`${baseUrl}${FREE_PATHS.agentCard}`, { redirect: 'error' })
  const card = cardSchema.parse(await response.json())
  const endpoint = card.supportedInterfaces.find(
    (each) => each.protocolBinding === 'JSONRPC' && each.protocolVersion === '1.0',
  )
  const [extension] = card.capabilities.extensions
  if (!endpoint || !extension) throw new Error('The agent card has no A2A 1.0 JSON-RPC interface')
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ data: operation }] }
  return {
    method: 'POST',
    url: endpoint.url,
    headers: { 'Content-Type': 'application/json', 'A2A-Version': '1.0', 'A2A-Extensions': extension.uri },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  }
}
