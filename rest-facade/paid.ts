/** The paid routes under `/api/v1`: what they check of HTTP themselves, before the agent is asked. */
import { Router, type Request, type Response } from 'express'
import type { CompanyAgentExecutor } from '../agent/executor/agent-executor.ts'
import { headerValues, sendReply } from '../agent/executor/http.ts'
import { replyTo } from '../agent/executor/reply.ts'
import { refused, type Outcome } from '../agent/operation/outcome.ts'
import { inputRefusal, type Refusal } from '../agent/operation/refusal.ts'
import { resourceUrl, ROUTES } from '../agent/operation/resource.ts'
import { parseOperation } from '../agent/operation/schema.ts'
import { PAYMENT_HEADERS } from '../agent/payments/terms.ts'

/** Without a path parameter: Express would decode it, and a number spelt with percent signs is not a number. */
const LOOKUP_PATH = new RegExp(`^${ROUTES.lookup.path}/[^/]*$`)

interface Door {
  executor: CompanyAgentExecutor
  baseUrl: string
}

export function paidRoutes({ executor, baseUrl }: Door): Router {
  const router = Router({ strict: true, caseSensitive: true })
  router.all(LOOKUP_PATH, async (request, response) => {
    const number = request.path.slice(ROUTES.lookup.path.length + 1)
    sendReply(response, replyTo(await lookup({ executor, baseUrl }, request, number)))
  })
  return router
}

async function lookup({ executor, baseUrl }: Door, request: Request, number: string): Promise<Outcome> {
  if (request.method !== ROUTES.lookup.method) return refused(methodNotAllowed(ROUTES.lookup.method))
  if (/[?#]/.test(request.originalUrl) || hasBody(request)) return refused({ code: 'unexpected_input' })
  const parsed = parseOperation('lookup', { company_number: number })
  if (!parsed.valid) return refused(inputRefusal('lookup', parsed.fault))
  return executor.perform({
    operation: parsed.operation,
    paymentHeaders: headerValues(request, PAYMENT_HEADERS.request),
    // Not the URL as it came: its target may be absolute (RFC 9112 section 3.2.2) and name any host.
    resourceUrl: resourceUrl(baseUrl, parsed.operation),
  })
}

export function methodNotAllowed(allow: string): Refusal {
  return { code: 'method_not_allowed', allow }
}

/** A body announces itself (RFC 9112 section 6); what is announced need not be read to be refused. */
function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

export function refuse(response: Response, refusal: Refusal): void {
  sendReply(response, replyTo(refused(refusal)))
}
