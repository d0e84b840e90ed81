/**
 * The protocol errors of MCP (contract 4.6.8) with their fixed messages. The messages of the SDK repeat input of the
 * client.
 */
import { MCP_VERSIONS } from '../../operation/endpoints.ts'

export interface McpError {
  code: number
  statuses: readonly number[]
  /** A fixed sentence, as in every refusal (contract 7.4). */
  message: string
}

const VERSION_MESSAGE = `The protocol version is not supported. Supported: ${MCP_VERSIONS.join(', ')}.`

const INTERNAL_ERROR_CODE = -32_603
const UNSUPPORTED_VERSION_CODE = -32_022

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

/**
 * Only protocol errors contain this text: codes of refusals are strings, and quotation marks in strings are escaped.
 */
const ERROR = '"error":{"code":-'
/** A JSON body, or one event of a stream. */
const MESSAGE = /^((?:data: )?)(\{.*\})$/gm
const OTHER_MESSAGE = 'The request could not be processed.'

/** `body` is a response of the SDK: JSON, or server-sent events with one message in each. */
export function fixErrorMessages(body: string, status: number): string {
  if (!body.includes(ERROR)) return body
  return body.replace(MESSAGE, (_line, prefix: string, json: string) => {
    const reply = JSON.parse(json) as { error?: { code: number; data?: unknown } }
    if (!reply.error) return prefix + json
    const { code, data } = reply.error
    const { message = OTHER_MESSAGE } =
      MCP_ERRORS.find((each) => each.code === code && each.statuses.includes(status)) ?? {}
    const isFailure = code === INTERNAL_ERROR_CODE
    const described = {
      ...(code === UNSUPPORTED_VERSION_CODE && describeVersions(data)),
      charged: isFailure ? 'unknown' : 'no',
      next: isFailure ? 'repeat' : 'change_request',
    }
    return prefix + JSON.stringify({ ...reply, error: { code, message, data: described } })
  })
}

/** Digits with dots or hyphens, such as a date. */
const VERSION_FORM = /^v?\d[\d.-]{0,30}$/

/** The specification requires both members. The requested version is repeated only if it has the form of a version. */
function describeVersions(data: unknown): object {
  const { supported = [], requested } = (data ?? {}) as { supported?: string[]; requested?: unknown }
  const isVersion = typeof requested === 'string' && VERSION_FORM.test(requested)
  return { supported, requested: isVersion ? requested : '' }
}
