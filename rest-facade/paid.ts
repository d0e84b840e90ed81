/** The paid routes: steps 1 and 2 of contract 6.1.1 (method, size, content type, input), then the executor. */
import { Router, type Request } from 'express'
import type { CompanyAgentExecutor } from '../agent/executor/agent-executor.ts'
import { renderOutcome } from '../agent/http/render-outcome.ts'
import type { Clients } from '../agent/http/clients.ts'
import { requestIdOf } from '../agent/http/request-id.ts'
import { headerValues, isEncoded, isJsonType, readBody } from '../agent/http/request.ts'
import { methodNotAllowed, refuse, sendResponse } from '../agent/http/response.ts'
import { refused, type Outcome } from '../agent/operation/outcome.ts'
import { inputRefusal } from '../agent/operation/refusal.ts'
import { resourceUrl, ROUTES, searchInput } from '../agent/operation/resource.ts'
import { parseOperation, type OperationName } from '../agent/operation/schema.ts'
import { parseStrictJson } from '../agent/operation/strict-json.ts'
import { PAYMENT_HEADERS } from '../agent/payments/terms.ts'
import { parseQueryString, rawQuery } from './query.ts'

/** Contract 4.3.1. */
export const RESOLVE_BODY_BYTES_MAX = 4096

/** Up to this length, a quote names a search by the URL as requested; beyond, by its canonical URL (contract 5.1.3). */
const QUOTED_QUERY_CHARACTERS_MAX = 2048

interface PaidRouteOptions {
  executor: CompanyAgentExecutor
  baseUrl: string
  clients: Clients
}

type Handler = (options: PaidRouteOptions, request: Request) => Outcome | Promise<Outcome>

/**
 * Regular expressions, because Express decodes parameters and a percent-encoded company number is invalid. One trailing
 * slash is accepted, as on the other routes (contract 4.7.1).
 */
const HANDLERS: Record<OperationName, { path: RegExp; handle: Handler }> = {
  lookup: { path: new RegExp(`^${ROUTES.lookup.path}/(?:[^/]*|[^/]+/)$`), handle: lookup },
  search: { path: new RegExp(`^${ROUTES.search.path}/?$`), handle: search },
  resolve: { path: new RegExp(`^${ROUTES.resolve.path}/?$`), handle: resolve },
}

export function paidRoutes(options: PaidRouteOptions): Router {
  const router = Router()
  for (const operation of options.executor.onSale) {
    const { path, handle } = HANDLERS[operation]
    const { method } = ROUTES[operation]
    router.all(path, async (request, response) => {
      if (request.method !== method) return refuse(response, methodNotAllowed(method))
      sendResponse(response, renderOutcome(await handle(options, request)))
    })
  }
  return router
}

function lookup(options: PaidRouteOptions, request: Request): Outcome | Promise<Outcome> {
  if (hasQuery(request) || hasBody(request)) return refused({ code: 'unexpected_input' })
  const company_number = request.path.slice(ROUTES.lookup.path.length + 1).replace(/\/$/, '')
  return performInput(options, request, { operation: 'lookup', input: { company_number } })
}

function search(options: PaidRouteOptions, request: Request): Outcome | Promise<Outcome> {
  if (hasBody(request)) return refused({ code: 'unexpected_input' })
  const query = rawQuery(request.originalUrl)
  const parsed = parseQueryString(query)
  if (parsed.kind === 'refused') return parsed
  const url = `${options.baseUrl}${ROUTES.search.path}?${query}`
  return performInput(options, request, {
    operation: 'search',
    input: searchInput(parsed.fields),
    ...(query.length <= QUOTED_QUERY_CHARACTERS_MAX && { url }),
  })
}

async function resolve(options: PaidRouteOptions, request: Request): Promise<Outcome> {
  const body = await readBody(request, RESOLVE_BODY_BYTES_MAX)
  if (typeof body === 'string') return refused({ code: body })
  if (!isJsonType(headerValues(request, 'Content-Type')) || isEncoded(request))
    return refused({ code: 'unsupported_media_type' })
  if (hasQuery(request)) return refused({ code: 'unexpected_input' })
  const json = parseStrictJson(body)
  switch (json.kind) {
    case 'invalid':
      return refused({ code: 'invalid_body', detail: 'it must be JSON in UTF-8' })
    case 'duplicate_name':
      return refused({ code: 'invalid_body', detail: 'a field is given twice' })
    case 'valid':
      return performInput(options, request, { operation: 'resolve', input: json.value })
  }
}

interface UncheckedOperation {
  operation: OperationName
  input: unknown
  /** The resource that the quote names. Default: the canonical URL of the operation. */
  url?: string
}

/** Quoted URLs begin with the configured base URL. A request target may be absolute and name any host (RFC 9112, 3.2.2). */
function performInput(
  { executor, baseUrl, clients }: PaidRouteOptions,
  request: Request,
  { operation, input, url }: UncheckedOperation,
): Outcome | Promise<Outcome> {
  const parsed = parseOperation(operation, input)
  if (parsed.kind === 'invalid') return refused(inputRefusal(operation, parsed.fault))
  return executor.perform({
    operation: parsed.operation,
    paymentHeaders: headerValues(request, PAYMENT_HEADERS.request),
    resourceUrl: url ?? resourceUrl(baseUrl, parsed.operation),
    client: clients.of(request),
    requestId: requestIdOf(request),
  })
}

function hasQuery({ originalUrl }: Request): boolean {
  return /[?#]/.test(originalUrl)
}

/** Reads the framing headers only (RFC 9112, section 6). A body need not be read to be refused. */
function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
