/** What both doors share of HTTP: a header's every value, what is wrong with a body, and sending a reply. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RefusalCode } from '../operation/refusal.ts'
import type { Reply } from './reply.ts'

/** Every value of a header as it came; Node joins repeated ones with a comma otherwise. */
export function headerValues(request: IncomingMessage, name: string): string[] {
  return request.headersDistinct[name.toLowerCase()] ?? []
}

/** The refusal for an error of the body parser; undefined when the error is something else. */
export function bodyFault(error: unknown): RefusalCode | undefined {
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined
  if (type === 'entity.too.large') return 'body_too_large'
  if (type === 'encoding.unsupported') return 'unsupported_media_type'
  return type === 'request.aborted' || type === 'request.size.invalid' ? 'invalid_body' : undefined
}

export function sendReply(response: ServerResponse, { status, headers, body }: Reply): void {
  // The client may have left; its answer is stored, and it can ask again.
  if (response.headersSent || response.destroyed) return
  const bytes = Buffer.from(body, 'utf8')
  response.writeHead(status, { ...headers, 'Content-Length': bytes.length })
  response.end(response.req.method === 'HEAD' ? undefined : bytes)
}
