/** The Express application with all routes. Payments are handled by the executor only. */
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { openToolList } from '../agent/payment/tools.ts'
import type { CompanyAgentExecutor } from '../agent/sale/agent-executor.ts'
import { a2aRoute } from '../agent/transport/a2a/route.ts'
import { mcpRoute } from '../agent/transport/mcp/route.ts'
import type { Clients } from '../agent/transport/http/connections.ts'
import { requestIdOf } from '../agent/transport/http/request.ts'
import { PAYMENT_HEADERS } from '../agent/payment/terms.ts'
import { refused } from '../agent/operation/outcome.ts'
import { refuse, renderOutcome, sendResponse } from '../agent/transport/http/response.ts'
import { FREE_PATHS, SECURITY_TXT_PATH } from '../agent/operation/endpoints.ts'
import type { Report, Timer } from '../base/runtime.ts'
import { CACHE_SECONDS, requireRead, sendAsset, sendCurrent, sendDocument } from './document.ts'
import { ASSETS } from './documents/assets.ts'
import { currentAttribution, currentMetadata } from './documents/metadata.ts'
import { renderMissing } from './documents/page.ts'
import { openDocuments, PAGE, type Documents } from './documents/render-documents.ts'
import { securityTxt } from './documents/well-known.ts'
import { paidRoutes } from './paid.ts'
import { prefersHtml, withDocument } from './quote-page.ts'
import { registryRoutes } from './registry.ts'
import { sandboxAccountRoute } from './sandbox-account.ts'

/** Clients must see a change of the dataset at once. */
const META_CACHE_SECONDS = 0

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
  registry?: Parameters<typeof registryRoutes>[0]['registry']
  sandboxAccount?: Parameters<typeof sandboxAccountRoute>[0]['account'] | undefined
  timer: Timer
  report: Report
  /** Called for every request before it is routed. */
  observe?: RequestHandler | undefined
}

export function createApp(options: AppOptions): Express {
  const { executor, baseUrl, terms, clients, shown, signed, sandboxAccount, operator, a2aEnabled, now } = options
  const { mode, payTo } = terms
  const pages = openDocuments(options)
  const app = express()
  app.disable('x-powered-by')
  app.set('query parser', false)
  app.enable('case sensitive routing')

  if (options.observe) app.use(options.observe)
  app.use(answerPreflight)
  app.use(paidRoutes({ executor, baseUrl, clients, page: options }))
  if (a2aEnabled) app.use(a2aRoute(options))
  app.use(
    mcpRoute({
      ...options,
      tools: openToolList(terms, () => shown().statuses),
      serviceInfo: () => ({
        metadata: currentMetadata(options) ?? null,
        attribution: currentAttribution(options),
        guide: `${baseUrl}${FREE_PATHS.mcpGuide}`,
      }),
    }),
  )
  if (mode === 'testnet') app.use(registryRoutes({ ...options, payTo }))
  if (sandboxAccount) app.use(sandboxAccountRoute({ account: sandboxAccount, baseUrl, clients, payTo, now }))
  app.use(refuseInvalidEncoding)
  app.all(FREE_PATHS.metadata, requireRead, (_request, response) => {
    const metadata = currentMetadata(options)
    if (!metadata) return refuse(response, { code: 'dataset_unavailable' })
    sendCurrent(response, metadata, META_CACHE_SECONDS)
  })
  app.all(FREE_PATHS.attribution, requireRead, (_request, response) =>
    sendCurrent(response, currentAttribution(options), CACHE_SECONDS),
  )
  for (const documents of [signed, pages]) {
    // Two slashes are another path than one.
    for (const path of documents().keys())
      if (path !== PAGE)
        app.all(path === FREE_PATHS.index ? /^\/$/ : path, requireRead, currentDocument(documents, path))
  }
  if (operator)
    app.all(SECURITY_TXT_PATH, requireRead, (_request, response) =>
      sendDocument(response, securityTxt(baseUrl, operator, now())),
    )
  for (const [path, { type, text }] of ASSETS)
    app.all(path, requireRead, (_request, response) => sendAsset(response, type, text))

  const missing = renderMissing(options)
  app.use((request, response) => {
    const content = renderOutcome(refused({ code: 'not_found' }))
    response.setHeader('Link', LINKS)
    response.vary('Accept')
    sendResponse(response, prefersHtml(request) ? withDocument(content, missing) : content)
  })
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    options.report('request_failed', error, requestIdOf(request))
    refuse(response, { code: 'internal_error' })
  })
  return app
}

/** The paths whose document depends on `Accept`: the types, the usual one first, and their documents. */
const FORMS = new Map<string, Record<string, string>>([
  [FREE_PATHS.index, { 'application/json': FREE_PATHS.index, 'text/html': PAGE }],
  [FREE_PATHS.page, { 'text/html': FREE_PATHS.page, 'text/markdown': FREE_PATHS.apiGuide }],
])

function currentDocument(pages: () => Documents, path: string): RequestHandler {
  const forms = FORMS.get(path)
  return (request, response, next) => {
    if (forms) response.vary('Accept')
    const accepted = forms && request.accepts(Object.keys(forms))
    const page = pages().get((accepted && forms?.[accepted]) || path)
    if (!page) return next()
    response.set('Link', LINKS)
    sendDocument(response, page)
  }
}

/** Refuses a `%` without two hexadecimal digits. The routes above have codes of their own for it (contract 4.7.2). */
function refuseInvalidEncoding(request: Request, response: Response, next: NextFunction): void {
  if (/%(?![0-9a-f]{2})/i.test(request.originalUrl)) refuse(response, { code: 'malformed_request' })
  else next()
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
