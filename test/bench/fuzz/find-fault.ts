/** Checks the response to a generated request against the error tables and the OpenAPI description. */
import { MCP_ERRORS } from '../../../agent/transport/mcp/protocol-error.ts'
import { REFUSALS, WIRE_CODES } from '../../../agent/operation/refusal.ts'
import { findOpenApiFault, type OpenApiDescription } from '../../support/openapi-check.ts'
import { MARKER, type FuzzRequest } from './requests.ts'
import type { RawResponse } from './raw-connection.ts'

const HAS_MARKER = new RegExp(MARKER, 'i')

/** @returns the fault in a few words; undefined if the response is correct */
export function findFault(
  description: OpenApiDescription,
  request: FuzzRequest,
  response: RawResponse,
): string | undefined {
  if (HAS_MARKER.test(withoutAllowedEchoes(response))) return 'the input is echoed'
  if (response.status >= 400 && request.method !== 'HEAD') {
    const fault = bodyFault(response)
    if (fault !== undefined) return `${response.status} ${fault}`
  }
  if (isServerRefusal(request, response))
    return response.headers.get('connection') === 'close' ? undefined : 'the connection stays open'
  if (!request.isFramed) return response.status === 999 ? 'the response is not HTTP' : undefined
  const { method, target } = request
  const header = (name: string) => response.headers.get(name.toLowerCase()) ?? null
  // Compressed bodies are not checked.
  if (header('content-encoding') !== null) return undefined
  const fault = findOpenApiFault(description, {
    origin: '',
    target,
    method,
    status: response.status,
    header,
    text: response.text,
  })
  return fault === undefined ? undefined : `${response.status} ${fault}`
}

/** Removes the members that may repeat input: the resource of a quote and the JSON-RPC id. */
function withoutAllowedEchoes({ status, head, text }: RawResponse): string {
  const message = parseRpc(text)
  if (message) return head + JSON.stringify(withoutQuote(message)).replaceAll(JSON.stringify(message.id), '0')
  if (status !== 402) return `${head}\r\n${text}`
  return `${head.replace(/^PAYMENT-REQUIRED:.*$/im, '')}\r\n${text.replace(/"payment_required":.*$/s, '')}`
}

interface RpcMessage {
  id: unknown
  error?: { code: number; message: string }
  result?: { structuredContent?: object; content?: unknown[] }
}

/** A response of JSON-RPC, as JSON or as the last event of a stream. */
function parseRpc(text: string): RpcMessage | undefined {
  const json = text.startsWith('event: message\ndata: ') ? text.trimEnd().replace(/^.*\ndata: /s, '') : text
  try {
    const message = JSON.parse(json) as RpcMessage & { jsonrpc?: unknown }
    return message.jsonrpc === '2.0' ? message : undefined
  } catch {
    return undefined
  }
}

/** A quote of MCP is the first text, the structured content and a member of `_meta`. The error follows it. */
function withoutQuote(message: RpcMessage): object {
  const { structuredContent = {}, content = [] } = message.result ?? {}
  return 'x402Version' in structuredContent ? { ...message, result: content.slice(1) } : message
}

function bodyFault({ status, text }: RawResponse): string | undefined {
  const rpc = parseRpc(text)?.error
  if (rpc) {
    const row = MCP_ERRORS.find(({ code, statuses }) => code === rpc.code && statuses.includes(status))
    return row?.message === rpc.message ? undefined : 'the error of the protocol is not in the table'
  }
  const error = errorOf(text)
  if (!error) return 'the body is not {error: {code, message}}'
  const { code, message } = error
  const row = Object.hasOwn(REFUSALS, code) ? REFUSALS[code as keyof typeof REFUSALS] : undefined
  if (!row) return 'the code is not in the table'
  if (row.status !== status) return `the code belongs to ${row.status}`
  return message.startsWith(row.message.slice(0, -1)) ? undefined : 'the message is not in the table'
}

/**
 * Whether the HTTP server refused the request before a route got it. It closes the connection. HEAD has no body to
 * check.
 */
function isServerRefusal({ method }: FuzzRequest, { status, headers, text }: RawResponse): boolean {
  if (method === 'CONNECT' && status === 405) return true
  if (method !== 'HEAD') return WIRE_CODES.some((each) => each === errorOf(text)?.code)
  return headers.get('connection') === 'close' && WIRE_CODES.some((each) => REFUSALS[each].status === status)
}

function errorOf(text: string): { code: string; message: string } | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } }
    const { code, message, ...more } = error ?? {}
    const isWhole = typeof code === 'string' && typeof message === 'string' && Object.keys(more).length === 0
    return isWhole ? { code, message } : undefined
  } catch {
    return undefined
  }
}
