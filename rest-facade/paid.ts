/** The paid routes: steps 1 and 2 of contract 6.1.1 (method, size, content type, input), then the executor. */
import { Router, type Request } from 'express'
import type { CompanyAgentExecutor } from '../agent/sale/agent-executor.ts'
import { renderOutcome } from '../agent/transport/http/render-outcome.ts'
import type { Clients, HttpClient } from '../agent/transport/http/connections.ts'
import { requestIdOf } from '../agent/transport/http/request-id.ts'
import { hasBody, headerValues, isEncoded, isJsonRequest, readBody } from '../agent/transport/http/request.ts'
import { methodNotAllowed, refuse, sendResponse } from '../agent/transport/http/response.ts'
import { refused, type Outcome } from '../agent/operation/outcome.ts'
import { inputRefusal, parseOperation, queryMembers, type OperationDefinition } from '../agent/operation/operation.ts'
import { findRoute, resourceUrl, textInput } from '../agent/operation/resource.ts'
import { parseRequest } from '../store/base/strict-json.ts'
import { PAYMENT_HEADERS } from '../agent/payment/terms.ts'
import { parseQueryString, rawQuery } from './query.ts'
import { prefersHtml, renderQuotePage } from './quote-page.ts'

/** Up to this length, a quote names a search by the URL as requested; beyond, by its canonical URL (contract 5.1.3). */
const QUOTED_QUERY_CHARACTERS_MAX = 1_280

interface PaidRouteOptions {
  executor: CompanyAgentExecutor
  baseUrl: string
  clients: Clients
}

/** Paths are matched as they are sent, because Express decodes parameters and an encoded company number is invalid. */
export function paidRoutes(options: PaidRouteOptions): Router {
  const router = Router()
  router.use(async (request, response, next) => {
    const route = findRoute(request.path, options.executor.operations)
    if (!route) return next()
    const { method } = route.definition
    if (request.method !== method) return refuse(response, methodNotAllowed(method))
    const client = options.clients.of(request)
    const mayReplay = headerValues(request, PAYMENT_HEADERS.request).length > 0
    const outcome =
      client.budget.admit({ mayReplay }) ??
      (await (method === 'GET'
        ? performGet(options, request, { ...route, client })
        : performPost(options, request, { ...route, client })))
    if (method === 'GET') response.vary('Accept')
    sendResponse(
      response,
      prefersHtml(request, outcome) ? renderQuotePage(request, route, outcome) : renderOutcome(outcome),
    )
  })
  return router
}

type Route = NonNullable<ReturnType<typeof findRoute>> & { client: HttpClient }

function performGet(
  options: PaidRouteOptions,
  request: Request,
  { definition, members, client }: Route,
): Outcome | Promise<Outcome> {
  if (hasBody(request)) return refused({ code: 'unexpected_input' })
  if (queryMembers(definition).length === 0) {
    if (hasQuery(request)) return refused({ code: 'unexpected_input' })
    return performInput(options, request, { definition, client, input: members })
  }
  const query = rawQuery(request.originalUrl)
  const parsed = parseQueryString(query)
  if (parsed.kind === 'refused') return parsed
  // A member of the path is no parameter.
  if (Object.keys(members).some((name) => parsed.fields.has(name)))
    return refused(inputRefusal(definition, { field: null, rule: 'unknown fields are not accepted' }))
  const isQuoted = query !== '' && query.length <= QUOTED_QUERY_CHARACTERS_MAX
  return performInput(options, request, {
    definition,
    client,
    input: { ...textInput(parsed.fields), ...members },
    ...(isQuoted && { query }),
  })
}

async function performPost(
  options: PaidRouteOptions,
  request: Request,
  { definition, client }: Route,
): Promise<Outcome> {
  const body = await readBody(request, { bytesMax: definition.bodyBytesMax ?? 0, client })
  if (typeof body === 'string') return refused({ code: body })
  if (!isJsonRequest(request) || isEncoded(request)) return refused({ code: 'unsupported_media_type' })
  if (hasQuery(request)) return refused({ code: 'unexpected_input' })
  const json = parseRequest(body)
  switch (json.kind) {
    case 'invalid':
      return refused({ code: 'invalid_body', detail: 'it must be JSON in UTF-8' })
    case 'duplicate_name':
      return refused({ code: 'invalid_body', detail: 'a field is given twice' })
    case 'valid':
      return performInput(options, request, { definition, client, input: json.value })
  }
}

interface UncheckedOperation {
  definition: OperationDefinition
  client: HttpClient
  input: unknown
  /** The query string that the quote repeats. Default: that of the canonical URL. */
  query?: string
}

/**
 * Quoted URLs begin with the configured base URL. A request target may be absolute and name any host (RFC 9112, 3.2.2).
 */
function performInput(
  { executor, baseUrl }: PaidRouteOptions,
  request: Request,
  { definition, client, input, query }: UncheckedOperation,
): Outcome | Promise<Outcome> {
  const parsed = parseOperation(definition, input)
  if (parsed.kind === 'invalid') return refused(inputRefusal(definition, parsed.fault))
  const url = resourceUrl(baseUrl, parsed.operation)
  return executor.perform({
    operation: parsed.operation,
    paymentHeaders: headerValues(request, PAYMENT_HEADERS.request),
    resourceUrl: query === undefined ? url : url.replace(/(\?.*)?$/, () => `?${query}`),
    client,
    requestId: requestIdOf(request),
  })
}

/** A bare `?` is no query string (contract 4.1.2). */
function hasQuery({ originalUrl }: Request): boolean {
  return rawQuery(originalUrl) !== ''
}
