/**
 * Recognises a call of a paid tool that has only the required members of MCP 2026-07-28, and renders its result. For
 * such a call the server of the SDK would add a fifth of the CPU time of a sale (`bench perf --only mcp`), because it
 * validates request and result several times.
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
import type { Operations } from '../../operation/operation.ts'
import { PAYMENT_META } from './tool-result.ts'
import { operationOf } from '../../payment/tools.ts'

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
  const method = headers['mcp-method']
  const version = headers['mcp-protocol-version']
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

/** Renders the same JSON as the SDK for this result. */
export function renderResult(id: string | number, result: CallToolResult, serverInfo: Implementation): string {
  const _meta = { ...result._meta, [SERVER_INFO_META_KEY]: serverInfo }
  return JSON.stringify({ result: { ...result, _meta, resultType: 'complete' }, jsonrpc: '2.0', id })
}
