/** The paid routes: steps 1 and 2 of contract 6.1.1 (method, size, content type, input), then the executor. */
import { Router, type Request } from 'express'
import type { CompanyAgentExecutor } from '../agent/sale/agent-executor.ts'
import type { Client } from '../agent/sale/limits/address-budget.ts'
import { refuse, renderOutcome, sendResponse } from '../agent/transport/http/response.ts'
import type { Clients } from '../agent/transport/http/connections.ts'
import { hasBody, headerValues, isJsonRequest, readBody, requestIdOf } from '../agent/transport/http/request.ts'
import { refused, type Outcome, type Refused } from '../agent/operation/outcome.ts'
import { inputRefusal, parseOperation, queryMembers } from '../agent/operation/operation.ts'
import { findRoute, resourceUrl, textInput, type FoundRoute } from '../agent/operation/resource.ts'
import { parseRequest } from '../base/strict-json.ts'
import { PAYMENT_HEADERS } from '../agent/payment/terms.ts'
import { parseQueryString, rawQuery } from './query.ts'
import type { PageDeployment } from './documents/page.ts'
import { isQuote, prefersHtml, renderQuotePage } from './quote-page.ts'

/** Up to this length, a quote names a search by the URL as requested; beyond, by its canonical URL (contract 5.1.3). */
const QUOTED_QUERY_CHARACTERS_MAX = 1_280

interface PaidRouteOptions {
  executor: CompanyAgentExecutor
  baseUrl: string
  clients: Clients
  page: PageDeployment
}

/** Paths are matched as they are sent, because Express decodes parameters and an encoded company number is invalid. */
export function paidRoutes(options: PaidRouteOptions): Router {
  const router = Router()
  router.use(async (request, response, next) => {
    const route = findRoute(request.path, options.executor.operations)
    if (!route) return next()
    const { method } = route.definition
    if (request.method !== method) return refuse(response, { code: 'method_not_allowed', allow: method })
    const client = options.clients.of(request)
    const mayReplay = headerValues(request, PAYMENT_HEADERS.request).length > 0
    const outcome = client.budget.admit({ mayReplay }) ?? (await perform(options, request, { ...route, client }))
    if (method === 'GET') response.vary('Accept')
    sendResponse(
      response,
      isQuote(request, outcome) && prefersHtml(request)
        ? renderQuotePage(options.page, request, { route, outcome })
        : renderOutcome(outcome),
    )
  })
  return router
}

type Route = FoundRoute & { client: Client }

/**
 * Quoted URLs begin with the configured base URL. A request target may be absolute and name any host (RFC 9112, 3.2.2).
 */
async function perform({ executor, baseUrl }: PaidRouteOptions, request: Request, route: Route): Promise<Outcome> {
  const { definition, client } = route
  const read = definition.method === 'GET' ? readQuery(request, route) : await readJson(request, route)
  if (read.kind === 'refused') return read
  const parsed = parseOperation(definition, read.input)
  if (parsed.kind === 'invalid') return refused(inputRefusal(definition, parsed.fault))
  const url = resourceUrl(baseUrl, parsed.operation)
  return executor.perform({
    operation: parsed.operation,
    paymentHeaders: headerValues(request, PAYMENT_HEADERS.request),
    resourceUrl: read.query === undefined ? url : url.replace(/(\?.*)?$/, () => `?${read.query}`),
    client,
    requestId: requestIdOf(request),
  })
}

/** The input, and the query string that the quote repeats. Default: that of the canonical URL. */
type ReadInput = { kind: 'read'; input: unknown; query?: string } | Refused

function readQuery(request: Request, { definition, members }: Route): ReadInput {
  if (hasBody(request)) return refused({ code: 'unexpected_input' })
  const query = rawQuery(request.originalUrl)
  if (queryMembers(definition).length === 0)
    return query === '' ? { kind: 'read', input: members } : refused({ code: 'unexpected_input' })
  const parsed = parseQueryString(query)
  if (parsed.kind === 'refused') return parsed
  // A member of the path is no parameter.
  if (Object.keys(members).some((name) => parsed.fields.has(name)))
    return refused(inputRefusal(definition, { field: null, rule: 'unknown fields are not accepted' }))
  const isQuoted = query !== '' && query.length <= QUOTED_QUERY_CHARACTERS_MAX
  return { kind: 'read', input: { ...textInput(parsed.fields), ...members }, ...(isQuoted && { query }) }
}

async function readJson(request: Request, { definition, client }: Route): Promise<ReadInput> {
  const body = await readBody(request, { bytesMax: definition.bodyBytesMax ?? 0, client })
  if (typeof body === 'string') return refused({ code: body })
  if (!isJsonRequest(request)) return refused({ code: 'unsupported_media_type' })
  if (rawQuery(request.originalUrl) !== '') return refused({ code: 'unexpected_input' })
  const json = parseRequest(body)
  switch (json.kind) {
    case 'invalid':
      return refused({ code: 'invalid_body', detail: 'it must be JSON in UTF-8' })
    case 'duplicate_name':
      return refused({ code: 'invalid_body', detail: 'a field is given twice' })
    case 'valid':
      return { kind: 'read', input: json.value }
  }
}
