/** The paid routes under `/api/v1`: what they check of HTTP themselves, before the agent is asked. */
import type { Request, RequestHandler, Response } from 'express'
import type { CompanyAgentExecutor } from '../agent/executor/agent-executor.ts'
import { headerValues, isEncoded, isJsonType, readBody, sendReply } from '../agent/executor/http.ts'
import { replyTo } from '../agent/executor/reply.ts'
import { refused, type Outcome } from '../agent/operation/outcome.ts'
import { inputRefusal, type Refusal } from '../agent/operation/refusal.ts'
import { resourceUrl, ROUTES, searchInput } from '../agent/operation/resource.ts'
import { parseOperation, type OperationName } from '../agent/operation/schema.ts'
import { readJson } from '../agent/operation/strict-json.ts'
import { PAYMENT_HEADERS } from '../agent/payments/terms.ts'
import { queryOf, readQuery } from './query.ts'

/** Spec 8: the JSON body of a resolve. */
export const RESOLVE_BODY_BYTES_MAX = 4096

/** Far above what a name takes; a quote has to stay short. */
const SPELLING_CHARACTERS_MAX = 2048

interface Door {
  executor: CompanyAgentExecutor
  baseUrl: string
}

interface Route {
  /** Held against the path as it came: a number spelt with percent signs is not a number. */
  path: RegExp
  sale: (door: Door, request: Request) => Outcome | Promise<Outcome>
}

const PAID_ROUTES: Record<OperationName, Route> = {
  lookup: { path: new RegExp(`^${ROUTES.lookup.path}/[^/]*$`), sale: lookup },
  search: { path: new RegExp(`^${ROUTES.search.path}$`), sale: search },
  resolve: { path: new RegExp(`^${ROUTES.resolve.path}$`), sale: resolve },
}

/** One handler for all of them: Express's router, route and layers would be an eighth of a quote. */
export function paidRoutes(door: Door): RequestHandler {
  const { onSale } = door.executor
  return (request, response, next) => {
    const { path, method } = request
    const operation = onSale.find((name) => PAID_ROUTES[name].path.test(path))
    if (operation === undefined || method === 'OPTIONS') return next()
    const isRight = method === ROUTES[operation].method
    const outcome = isRight ? PAID_ROUTES[operation].sale(door, request) : notAllowed(operation)
    return answer(response, outcome)
  }
}

function notAllowed(operation: OperationName): Outcome {
  return refused(methodNotAllowed(ROUTES[operation].method))
}

async function answer(response: Response, outcome: Outcome | Promise<Outcome>): Promise<void> {
  sendReply(response, replyTo(await outcome))
}

function lookup(door: Door, request: Request): Outcome | Promise<Outcome> {
  if (hasQuery(request) || hasBody(request)) return refused({ code: 'unexpected_input' })
  const company_number = request.path.slice(ROUTES.lookup.path.length + 1)
  return sell(door, request, { operation: 'lookup', input: { company_number } })
}

function search(door: Door, request: Request): Outcome | Promise<Outcome> {
  if (hasBody(request)) return refused({ code: 'unexpected_input' })
  const query = queryOf(request.originalUrl)
  const fields = readQuery(query)
  if ('code' in fields) return refused(fields)
  // The quote names the search as it was requested, in the client's own spelling; a very long one in the shortest.
  const url = `${door.baseUrl}${ROUTES.search.path}?${query}`
  const spelling = query.length > SPELLING_CHARACTERS_MAX ? {} : { url }
  return sell(door, request, { operation: 'search', input: searchInput(fields), ...spelling })
}

async function resolve(door: Door, request: Request): Promise<Outcome> {
  const body = await readBody(request, RESOLVE_BODY_BYTES_MAX)
  if (typeof body === 'string') return refused({ code: body })
  const isPlainJson = isJsonType(headerValues(request, 'Content-Type')) && !isEncoded(request)
  if (!isPlainJson) return refused({ code: 'unsupported_media_type' })
  if (hasQuery(request)) return refused({ code: 'unexpected_input' })
  const read = readJson(body)
  switch (read.kind) {
    case 'not_json':
      return refused({ code: 'invalid_body', detail: 'it must be JSON in UTF-8' })
    case 'repeated_name':
      return refused({ code: 'invalid_body', detail: 'a field is given twice' })
    case 'json':
      return sell(door, request, { operation: 'resolve', input: read.value })
  }
}

interface Wish {
  operation: OperationName
  input: unknown
  /** What the quote names; the operation's own URL unless said otherwise. */
  url?: string
}

/**
 * Every URL is built under our base, never taken as it came: a request's target may be absolute (RFC 9112 section 3.2.2)
 * and name any host.
 */
function sell(
  { executor, baseUrl }: Door,
  request: Request,
  { operation, input, url }: Wish,
): Outcome | Promise<Outcome> {
  const parsed = parseOperation(operation, input)
  if (!parsed.valid) return refused(inputRefusal(operation, parsed.fault))
  return executor.perform({
    operation: parsed.operation,
    paymentHeaders: headerValues(request, PAYMENT_HEADERS.request),
    resourceUrl: url ?? resourceUrl(baseUrl, parsed.operation),
  })
}

export function methodNotAllowed(allow: string): Refusal {
  return { code: 'method_not_allowed', allow }
}

function hasQuery({ originalUrl }: Request): boolean {
  return /[?#]/.test(originalUrl)
}

/** A body announces itself (RFC 9112 section 6); what is announced need not be read to be refused. */
function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

export function refuse(response: Response, refusal: Refusal): void {
  sendReply(response, replyTo(refused(refusal)))
}
