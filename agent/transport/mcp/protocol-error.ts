/** Gives protocol errors their fixed messages (contract 4.6.8). The messages of the SDK repeat input of the client. */
import { MCP_ERRORS, UNSUPPORTED_VERSION_CODE } from '../../operation/mcp-errors.ts'

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
    const versions = code === UNSUPPORTED_VERSION_CODE && { data: describeVersions(data) }
    return prefix + JSON.stringify({ ...reply, error: { code, message, ...versions } })
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
