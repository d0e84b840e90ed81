/**
 * Recognises an ordinary call of a paid tool, as every client of MCP 2026-07-28 sends it. The server of the SDK takes as long
 * for such a call as a fifth of a sale (`bench perf`, row "mcp cpu"), because it validates request and result several times.
 */
import {
  classifyInboundRequest,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
  type CallToolResult,
  type Implementation,
} from '@modelcontextprotocol/server'
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { Operations } from '../operation/operation.ts'
import { PAYMENT_META } from './tool-result.ts'
import { operationOf } from './tools.ts'

const VERSION = '2026-07-28'

/** Anything else in a request may have a meaning that only the SDK knows. */
const ordinarySchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]),
  method: z.literal('tools/call'),
  params: z.strictObject({
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()).optional(),
    _meta: z.strictObject({
      [PROTOCOL_VERSION_META_KEY]: z.literal(VERSION),
      [CLIENT_INFO_META_KEY]: z.unknown(),
      [CLIENT_CAPABILITIES_META_KEY]: z.unknown(),
      [PAYMENT_META]: z.unknown().optional(),
    }),
  }),
})

/** @returns undefined for every request that the SDK must answer */
export function readOrdinaryCall(
  message: unknown,
  { headers, operations }: { headers: IncomingHttpHeaders; operations: Operations },
) {
  const { data: call } = ordinarySchema.safeParse(message)
  if (call === undefined || call.params.name !== headers['mcp-name']) return undefined
  const definition = operationOf(call.params.name, operations)
  if (definition === undefined) return undefined
  const [method, version] = [headers['mcp-method'], headers['mcp-protocol-version']]
  if (typeof method !== 'string' || typeof version !== 'string') return undefined
  // The SDK compares the headers with the body and validates the members of `_meta` that belong to the protocol.
  const { kind } = classifyInboundRequest({
    httpMethod: 'POST',
    mcpMethodHeader: method,
    protocolVersionHeader: version,
    body: message,
  })
  return kind === 'modern' ? { id: call.id, definition, params: call.params } : undefined
}

/** The response that the SDK sends for this result. */
export function renderResult(id: string | number, result: CallToolResult, server: Implementation): string {
  const _meta = { ...result._meta, [SERVER_INFO_META_KEY]: server }
  return JSON.stringify({ result: { ...result, _meta, resultType: 'complete' }, jsonrpc: '2.0', id })
}
