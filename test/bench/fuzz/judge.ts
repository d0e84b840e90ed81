/** What must hold for every answer to a generated request; what doesn't is a fault, in a few words. */
import { REFUSALS, WIRE_REFUSALS } from '../../../agent/operation/refusal.ts'
import { faultOf, type Description } from '../../support/described.ts'
import { MARK, type FuzzRequest } from './requests.ts'
import type { WireReply } from './wire.ts'

const MARKED = new RegExp(MARK, 'i')

/** Undefined when all is well. */
export function judge(description: Description, request: FuzzRequest, reply: WireReply): string | undefined {
  if (MARKED.test(withoutOwnWords(reply))) return 'the input is echoed'
  if (reply.status >= 400 && request.method !== 'HEAD') {
    const fault = bodyFault(reply)
    if (fault !== undefined) return `${reply.status} ${fault}`
  }
  if (isOfTheWire(request, reply))
    return reply.headers.get('connection') === 'close' ? undefined : 'the connection stays open'
  if (!request.isFramed) return reply.status === 999 ? 'no HTTP' : undefined
  const { method, target } = request
  const header = (name: string) => reply.headers.get(name.toLowerCase()) ?? null
  // Compressed documents are bytes; their status is all there is to judge.
  if (header('content-encoding') !== null) return undefined
  const fault = faultOf(description, { origin: '', target, method, status: reply.status, header, text: reply.text })
  return fault === undefined ? undefined : `${reply.status} ${fault}`
}

/** The quote of a search names the search in the buyer's own words, and JSON-RPC sends an id back, both on purpose. */
function withoutOwnWords({ status, head, text }: WireReply): string {
  if (status === 200 && text.startsWith('{"jsonrpc":')) return head + JSON.stringify({ ...JSON.parse(text), id: 0 })
  if (status !== 402) return `${head}\r\n${text}`
  return `${head.replace(/^PAYMENT-REQUIRED:.*$/im, '')}\r\n${text.replace(/"payment_required":.*$/s, '')}`
}

function bodyFault({ status, text }: WireReply): string | undefined {
  const error = errorOf(text)
  if (!error) return 'the body is not {error: {code, message}}'
  const { code, message } = error
  const row = Object.hasOwn(REFUSALS, code) ? REFUSALS[code as keyof typeof REFUSALS] : WIRE_REFUSALS.get(code)
  if (!row) return 'the code is not in the table'
  if (row.status !== status) return `the code is of ${row.status}`
  return message.startsWith(row.message.slice(0, -1)) ? undefined : 'the sentence is not in the table'
}

/** Given before the request came to a route, and the connection's last. A HEAD has no body to tell it by. */
function isOfTheWire({ method }: FuzzRequest, { status, headers, text }: WireReply): boolean {
  if (method === 'CONNECT' && status === 405) return true
  if (method !== 'HEAD') return WIRE_REFUSALS.has(errorOf(text)?.code ?? '')
  return headers.get('connection') === 'close' && [...WIRE_REFUSALS.values()].some((each) => each.status === status)
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
