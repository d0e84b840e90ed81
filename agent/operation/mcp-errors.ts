/** The protocol errors of MCP (contract 4.6.8): JSON-RPC code, HTTP statuses and message. */
import { MCP_VERSIONS } from './entries.ts'

export interface McpError {
  code: number
  statuses: readonly number[]
  /** A fixed sentence, as in every refusal (contract 7.1). */
  message: string
}

const VERSION_MESSAGE = `The protocol version is not supported. Supported: ${MCP_VERSIONS.join(', ')}.`

export const UNSUPPORTED_VERSION_CODE = -32_022

/**
 * Codes of JSON-RPC 2.0 and of MCP. Specification 2025-11-25 has no code for an unsupported version; the SDK sends
 * -32000.
 */
export const MCP_ERRORS: readonly McpError[] = [
  { code: -32_600, statuses: [400], message: 'The body is not one JSON-RPC 2.0 message.' },
  { code: -32_601, statuses: [200, 404], message: 'The method is not supported.' },
  { code: -32_602, statuses: [200, 400], message: 'There is no such tool, or the parameters are not valid.' },
  { code: -32_603, statuses: [200], message: 'The request could not be processed.' },
  { code: -32_000, statuses: [400], message: VERSION_MESSAGE },
  { code: -32_000, statuses: [406], message: 'Accept must list application/json and text/event-stream.' },
  {
    code: -32_020,
    statuses: [400],
    message: 'The headers MCP-Protocol-Version, Mcp-Method and Mcp-Name contradict the body.',
  },
  { code: UNSUPPORTED_VERSION_CODE, statuses: [400], message: VERSION_MESSAGE },
]
