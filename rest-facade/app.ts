/** The Express application with all routes. Payments are handled by the executor only. */
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { openToolList } from '../agent/payment/tools.ts'
import type { CompanyAgentExecutor } from '../agent/sale/agent-executor.ts'
import type { Clients } from '../agent/transport/http/connections.ts'
import { requestIdOf } from '../agent/transport/http/request.ts'
import { PAYMENT_HEADERS } from '../agent/payment/terms.ts'
import { refused } from '../agent/operation/outcome.ts'
import { refuse, renderOutcome, sendResponse } from '../agent/transport/http/response.ts'
import { FREE_PATHS, SANDBOX_SIGNATURE_PATH, SECURITY_TXT_PATH } from '../agent/operation/endpoints.ts'
import type { Report, Timer } from '../base/runtime.ts'
import { addRoute, refuseInvalidEncoding } from './add-route.ts'
import { sendAsset, sendDocument } from './document.ts'
import { ASSETS } from './documents/assets.ts'
import { currentAttribution, currentMetadata } from './documents/metadata.ts'
import { renderMissing } from './documents/page.ts'
import { openDocuments, PAGE, type Documents } from './documents/render-documents.ts'
import type { WrittenDocument } from './documents/templates.ts'
import { securityTxt } from './documents/well-known.ts'
import { prefersHtml, withDocument } from './quote-page.ts'
import { registryHandlers } from './registry.ts'
import { listRoutes, type RouteParts } from './routes.ts'
import { sandboxAccountHandler } from './sandbox-account.ts'

/** A longer list in the answer ends some clients: the heads of an answer may have 16 KiB in Node.js. */
const PREFLIGHT_NAMES_MAX = 64
const PREFLIGHT_BYTES_MAX = 4_096

/** The request headers that the service reads, other than those that a browser sends without asking. */
const READ_HEADERS = [
  PAYMENT_HEADERS.request,
  'Content-Type',
  'A2A-Version',
  'A2A-Extensions',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
].join(', ')

/** Links to the documents (RFC 8288), on every document and on 404. */
const LINKS = [
  `<${FREE_PATHS.openApi}>; rel="service-desc"; type="application/json"`,
  `<${FREE_PATHS.page}>; rel="service-doc"; type="text/html"`,
  `<${FREE_PATHS.apiGuide}>; rel="alternate service-doc"; type="text/markdown"`,
  `<${FREE_PATHS.llmsTxt}>; rel="llms-txt"; type="text/plain"`,
  // Required on the catalogue itself (RFC 9727 section 2).
  `<${FREE_PATHS.apiCatalog}>; rel="api-catalog"; type="application/linkset+json"`,
].join(', ')

type Facts = Parameters<typeof openDocuments>[0] & Parameters<typeof currentMetadata>[0]

interface AppOptions extends Facts {
  executor: CompanyAgentExecutor
  clients: Clients
  /** The current key set and, if A2A is enabled, the signed card. Their paths do not change. */
  signed: () => Documents
  registry?: Parameters<typeof registryHandlers>[0]['registry']
  sandboxAccount?: Parameters<typeof sandboxAccountHandler>[0]['account'] | undefined
  timer: Timer
  report: Report
  /** Called for every request before it is routed. */
  observe?: RequestHandler | undefined
}

export function createApp(options: AppOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.set('query parser', false)
  app.enable('case sensitive routing')

  if (options.observe) app.use(options.observe)
  app.use(answerPreflight)
  const pages = openDocuments(options)
  const find = (path: string) => options.signed().get(path) ?? pages().get(path)
  const parts = openParts(options, (path) => documentHandler(find, path))
  const routes = listRoutes(options)
  for (const route of routes) addRoute(app, route, route.open(parts))
  const described = new Set(routes.map(({ path }) => path))
  for (const path of pages().keys()) if (path !== PAGE && !described.has(path)) addPage(app, path, parts.document(path))
  const { operator, sandboxAccount } = options
  if (operator)
    addPage(app, SECURITY_TXT_PATH, (_request, response) =>
      sendDocument(response, securityTxt(options.baseUrl, operator, options.now())),
    )
  for (const [path, { type, text }] of ASSETS)
    addPage(app, path, (_request, response) => sendAsset(response, type, text))
  if (sandboxAccount)
    addRoute(
      app,
      { allow: 'POST', path: SANDBOX_SIGNATURE_PATH },
      sandboxAccountHandler({ ...parts.paid, account: sandboxAccount, payTo: options.terms.payTo, now: options.now }),
    )
  app.use(refuseInvalidEncoding)

  const missing = renderMissing(options)
  app.use(function answerMissing(request, response) {
    const content = renderOutcome(refused({ code: 'not_found' }))
    response.setHeader('Link', LINKS)
    response.vary('Accept')
    sendResponse(response, prefersHtml(request) ? withDocument(content, missing) : content)
  })
  app.use(function answerFailure(error: unknown, request: Request, response: Response, _next: NextFunction) {
    options.report('request_failed', error, requestIdOf(request))
    refuse(response, { code: 'internal_error' })
  })
  return app
}

/** Not described in OpenAPI: a page, a guide or a file of the page. */
function addPage(app: Express, path: string, handler: RequestHandler): void {
  addRoute(app, { allow: 'GET, HEAD', path, ignoresUrl: true }, handler)
}

function openParts(options: AppOptions, document: RouteParts['document']): RouteParts {
  const { executor, baseUrl, clients, terms, shown } = options
  return {
    paid: { executor, baseUrl, clients, page: options },
    a2a: options,
    mcp: {
      ...options,
      tools: openToolList(terms, () => shown().statuses),
      serviceInfo: () => ({
        metadata: currentMetadata(options) ?? null,
        attribution: currentAttribution(options),
        guide: `${baseUrl}${FREE_PATHS.mcpGuide}`,
      }),
    },
    facts: options,
    registry: registryHandlers({ ...options, payTo: terms.payTo }),
    document,
  }
}

/** The paths whose document depends on `Accept`: the types, the usual one first, and their documents. */
const FORMS = new Map<string, Record<string, string>>([
  [FREE_PATHS.index, { 'application/json': FREE_PATHS.index, 'text/html': PAGE }],
  [FREE_PATHS.page, { 'text/html': FREE_PATHS.page, 'text/markdown': FREE_PATHS.apiGuide }],
])

function documentHandler(find: (path: string) => WrittenDocument | undefined, path: string): RequestHandler {
  const forms = FORMS.get(path)
  return (request, response, next) => {
    if (forms) response.vary('Accept')
    const accepted = forms && request.accepts(Object.keys(forms))
    const found = find((accepted && forms?.[accepted]) || path)
    if (!found) return next()
    response.set('Link', LINKS)
    sendDocument(response, found)
  }
}

/**
 * Answers CORS preflight requests (contract 7.7). Other header names are allowed too, because clients send headers of
 * their own, and no answer depends on cookies or other credentials of a browser.
 */
function answerPreflight(request: Request, response: Response, next: NextFunction): void {
  if (request.method !== 'OPTIONS') return next()
  const names = (request.get('Access-Control-Request-Headers') ?? '').match(/[\w!#$%&'*+.^`|~-]+/g)
  const listed = names?.join(', ') ?? ''
  const isShort = (names?.length ?? 0) <= PREFLIGHT_NAMES_MAX && listed.length <= PREFLIGHT_BYTES_MAX
  response
    .writeHead(204, {
      'Access-Control-Allow-Methods': 'GET, HEAD, POST, OPTIONS',
      ...(names && { 'Access-Control-Allow-Headers': isShort ? listed : READ_HEADERS }),
      'Access-Control-Max-Age': '600',
    })
    .end()
}
