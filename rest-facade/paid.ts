/** The paid routes: steps 1 and 2 of contract 6.1.1 (method, size, content type, input), then the executor. */
import type { Request, RequestHandler } from 'express'
import type { CompanyAgentExecutor } from '../agent/sale/agent-executor.ts'
import type { Client } from '../agent/sale/limits/address-budget.ts'
import { renderOutcome, sendResponse } from '../agent/transport/http/response.ts'
import type { Clients } from '../agent/transport/http/connections.ts'
import { hasBody, isJsonRequest, paymentHeadersOf, readBody, requestIdOf } from '../agent/transport/http/request.ts'
import { refused, type Outcome, type Refused } from '../agent/operation/outcome.ts'
import {
  inputFaults,
  inputRefusal,
  parseOperation,
  queryMembers,
  type OperationDefinition,
} from '../agent/operation/operation.ts'
import { findRoute, resourceUrl, textInput, type FoundRoute } from '../agent/operation/resource.ts'
import { parseRequest } from '../base/strict-json.ts'
import { PAYMENT_HEADERS, toUsdc, type Terms } from '../agent/payment/terms.ts'
import { parseQueryString, rawQuery } from './query.ts'
import { inputName } from './documents/component-schemas.ts'
import {
  BODY,
  describeParameters,
  jsonContent,
  jsonBody,
  PAYMENT_REF,
  SALE,
  type Description,
} from './documents/description.ts'
import type { DocumentedDeployment } from './documents/examples.ts'
import type { PageDeployment } from './documents/page.ts'
import { isQuote, prefersHtml, renderQuotePage } from './quote-page.ts'

/** Up to this length, a quote names a search by the URL as requested; beyond, by its canonical URL (contract 5.1.3). */
const QUOTED_QUERY_CHARACTERS_MAX = 1_280

interface PaidOptions {
  executor: CompanyAgentExecutor
  baseUrl: string
  clients: Clients
  page: PageDeployment
}

export function paidHandler(definition: OperationDefinition, options: PaidOptions): RequestHandler {
  return async (request, response, next) => {
    const route = findRoute(request.path, [definition])
    if (!route) return next()
    const client = options.clients.of(request)
    const mayReplay = paymentHeadersOf(request).length > 0
    const outcome = client.budget.admit({ mayReplay }) ?? (await perform(options, request, { ...route, client }))
    if (definition.method === 'GET') response.vary('Accept')
    sendResponse(
      response,
      isQuote(request, outcome) && prefersHtml(request)
        ? renderQuotePage(options.page, request, { route, outcome })
        : renderOutcome(outcome),
    )
  }
}

type Route = FoundRoute & { client: Client }

/**
 * Quoted URLs begin with the configured base URL. A request target may be absolute and name any host (RFC 9112, 3.2.2).
 */
async function perform({ executor, baseUrl }: PaidOptions, request: Request, route: Route): Promise<Outcome> {
  const { definition, client } = route
  const read = definition.method === 'GET' ? readQuery(request, route) : await readJson(request, route)
  if (read.kind === 'refused') return read
  const parsed = parseOperation(definition, read.input)
  if (parsed.kind === 'invalid') return refused(inputRefusal(definition, parsed.fault))
  const url = resourceUrl(baseUrl, parsed.operation)
  return executor.perform({
    operation: parsed.operation,
    paymentHeaders: paymentHeadersOf(request),
    resourceUrl: read.query === undefined ? url : url.replace(/(\?.*)?$/, () => `?${read.query}`),
    client,
    requestId: requestIdOf(request),
  })
}

const HAS_QUERY = refused({ code: 'unexpected_input', detail: 'the query string' })

/** The input, and the query string that the quote repeats. Default: that of the canonical URL. */
type ReadInput = { kind: 'read'; input: unknown; query?: string } | Refused

function readQuery(request: Request, { definition, members }: Route): ReadInput {
  if (hasBody(request)) return refused({ code: 'unexpected_input', detail: 'the body' })
  const query = rawQuery(request.originalUrl)
  if (queryMembers(definition).length === 0) return query === '' ? { kind: 'read', input: members } : HAS_QUERY
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
  if (body.kind === 'refused') return body
  if (!isJsonRequest(request)) return refused({ code: 'unsupported_media_type' })
  if (rawQuery(request.originalUrl) !== '') return HAS_QUERY
  const json = parseRequest(body.bytes)
  switch (json.kind) {
    case 'invalid':
      return refused({ code: 'invalid_body', detail: 'it must be JSON in UTF-8' })
    case 'duplicate_name':
      return refused({ code: 'invalid_body', detail: 'a field is given twice' })
    case 'valid':
      return { kind: 'read', input: json.value }
  }
}

export function describePaid(
  definition: OperationDefinition,
  { terms, exampleCompany, statuses }: DocumentedDeployment,
): Description {
  const { name, method, path, inputSchema, answerName, reserved = [], skill, tool } = definition
  const hasQuery = queryMembers(definition).length > 0
  const examples = definition.examples(exampleCompany)
  const members = method === 'GET' ? describeParameters(inputSchema, { path, statuses, example: examples[0] }) : []
  return {
    operationId: tool.name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    tag: 'Paid',
    summary: skill.name,
    description: `${skill.description} ${describeRequest(definition)} ${tool.size}`,
    request: {
      // The price in the form that x402 directories read.
      'x-payment-info': { price: { currency: 'USD', ...priceRange(definition, terms) }, protocols: [{ x402: {} }] },
      parameters: [...members, PAYMENT_REF],
      ...(method === 'POST' && { requestBody: jsonBody(inputName(name), examples[0]) }),
    },
    content: jsonContent(answerName, definition.exampleAnswer(terms.mode)),
    headers: [PAYMENT_HEADERS.response],
    refusals: [
      ...inputFaults(definition),
      ...(hasQuery ? (['duplicate_parameter'] as const) : []),
      'unexpected_input',
      ...(method === 'POST' ? BODY : []),
      ...definition.refusals,
      ...SALE,
    ],
    reserved,
  }
}

function priceRange(definition: OperationDefinition, { mode }: Terms) {
  if (definition.kind === 'single') return { mode: 'fixed', amount: String(toUsdc(definition.prices[mode])) }
  const prices = definition.operations.map((each) => each.prices[mode])
  const totals = definition.operations.map((each) => each.prices[mode] * (each.batchInputsMax ?? 0))
  return { mode: 'dynamic', min: String(toUsdc(Math.min(...prices))), max: String(toUsdc(Math.max(...totals))) }
}

function describeRequest(definition: OperationDefinition): string {
  const { method, bodyBytesMax = 0 } = definition
  if (method === 'POST')
    return `The body is JSON of at most ${bodyBytesMax / 1024} KiB. A retry must repeat URI, Content-Type and the exact body.`
  return queryMembers(definition).length > 0
    ? 'Each parameter occurs at most once. A retry must repeat the whole query string.'
    : 'No query string and no body are accepted.'
}
