/**
 * `POST /mcp`: the stateless streamable HTTP transport of MCP over the SDK's handler. The route reads the body itself,
 * because the SDK accepts repeated member names and batches.
 */
import { createMcpHandler } from '@modelcontextprotocol/server'
import type { Request as ExpressRequest, RequestHandler, Response as ExpressResponse } from 'express'
import type { Clients } from '../http/connections.ts'
import { refuse, renderOutcome, sendResponse } from '../http/response.ts'
import { headerValues, isJsonRequest, readBody, requestIdOf } from '../http/request.ts'
import { WorkQueue } from '../../sale/limits/work-queue.ts'
import { CALL_BODY_BYTES_MAX, CALLS_MAX } from '../call-limits.ts'
import { MCP_PATH } from '../../operation/endpoints.ts'
import { parseRequest } from '../../../base/strict-json.ts'
import { fixErrorMessages } from './protocol-error.ts'
import { createServer } from './server.ts'

type ServerParameters = Parameters<typeof createServer>
type Caller = ServerParameters[1]

interface McpOptions extends Omit<ServerParameters[0], 'calls'> {
  clients: Clients
}

export function mcpHandler({ clients, ...options }: McpOptions): RequestHandler {
  const serverOptions = { ...options, calls: new WorkQueue(CALLS_MAX) }
  const { origin } = new URL(options.baseUrl)
  /** The SDK passes the web request to the factory. It has no fields for these. */
  const callers = new WeakMap<Request, Caller>()
  const handler = createMcpHandler(({ requestInfo }) => {
    const caller = requestInfo && callers.get(requestInfo)
    if (caller === undefined) throw new Error('The SDK did not pass the web request')
    return createServer(serverOptions, caller)
  })

  async function route(request: ExpressRequest, response: ExpressResponse): Promise<void> {
    const client = clients.of(request)
    // The payment is in the body.
    const limited = client.budget.admit({ mayReplay: true })
    if (limited) return sendResponse(response, renderOutcome(limited))
    const body = await readBody(request, { bytesMax: CALL_BODY_BYTES_MAX, client })
    // A page of another origin must not reach a service in the network of its visitor (MCP, streamable HTTP, security).
    if (headerValues(request, 'Origin').some((each) => each !== origin))
      return refuse(response, { code: 'origin_not_allowed' })
    if (body.kind === 'refused') return sendResponse(response, renderOutcome(body))
    if (!isJsonRequest(request)) return refuse(response, { code: 'unsupported_media_type' })
    const parsed = parseRequest(body.bytes)
    if (parsed.kind !== 'valid' || Array.isArray(parsed.value))
      return refuse(response, { code: 'invalid_body', detail: 'it must be one JSON-RPC request in UTF-8' })
    // Without the body, which the SDK takes parsed. A web request with a body costs more (`bench perf --only mcp`).
    const web = new Request(`${origin}${MCP_PATH}`, {
      method: 'POST',
      headers: { ...(request.headers as Record<string, string>), ...(acceptsBoth(request) && { accept: BOTH_TYPES }) },
    })
    callers.set(web, { client, requestId: requestIdOf(request), args: argumentsOf(parsed.value) })
    const answer = await handler.fetch(web, { parsedBody: parsed.value })
    const type = answer.headers.get('Content-Type')
    sendResponse(response, {
      status: answer.status,
      headers: { ...(type !== null && { 'Content-Type': type }), 'Cache-Control': 'private, no-store' },
      body: fixErrorMessages(await readAll(answer), answer.status),
    })
  }

  return route
}

const TYPES = ['application/json', 'text/event-stream']
const BOTH_TYPES = TYPES.join(', ')

/** The SDK searches the header for the two names, and refuses the wildcards that HTTP clients send by default. */
const acceptsBoth = (request: ExpressRequest) => TYPES.every((type) => request.accepts(type) !== false)

/** `text()` would keep each answer in memory until the next full garbage collection. */
async function readAll({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body ?? []) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** The arguments of a tool call as they were sent. The SDK drops a member `__proto__`. */
function argumentsOf(message: unknown): unknown {
  return (message as { params?: { arguments?: unknown } | null } | null)?.params?.arguments
}
