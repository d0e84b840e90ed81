/** The Express application with all routes. Payments are handled by the executor only. */
import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express'
import type { CompanyAgentExecutor } from '../agent/sale/agent-executor.ts'
import type { Clients } from '../agent/transport/http/connections.ts'
import { requestIdOf } from '../agent/transport/http/request.ts'
import { refuse, renderWireError, sendResponse } from '../agent/transport/http/response.ts'
import { FREE_PATHS } from '../agent/operation/endpoints.ts'
import type { Registry } from './registry/registry.ts'
import type { Report } from '../store/base/runtime.ts'
import { CACHE_SECONDS, requireRead, sendCurrent, sendDocument } from './document.ts'
import { currentAttribution, currentMetadata } from './documents/metadata.ts'
import type { Documents } from './documents/render-documents.ts'
import { paidRoutes } from './paid.ts'
import { registryRoutes } from './registry.ts'
import { sandboxAccountRoute, type SandboxAccount } from './sandbox-account.ts'

/** Clients must see a change of the dataset at once. */
const META_CACHE_SECONDS = 0

/** Links to the documents (RFC 8288), on every document and on 404. */
const LINKS = [
  `<${FREE_PATHS.openApi}>; rel="service-desc"; type="application/json"`,
  `<${FREE_PATHS.page}>; rel="service-doc"; type="text/html"`,
  `<${FREE_PATHS.apiGuide}>; rel="alternate service-doc"; type="text/markdown"`,
  `<${FREE_PATHS.llmsTxt}>; rel="llms-txt"; type="text/plain"`,
].join(', ')

interface AppOptions {
  executor: CompanyAgentExecutor
  baseUrl: string
  clients: Clients
  facts: Parameters<typeof currentMetadata>[0]
  /** The current key set and, if A2A is enabled, the signed card. Their paths do not change. */
  signed: () => Documents
  /** The current guides and descriptions. Their paths do not change. */
  pages: () => Documents
  /** Absent when A2A is disabled. */
  a2aRoute?: Router
  mcp: Router
  /** The ERC-8004 identity, for the testnet-only routes. */
  registry?: Registry | undefined
  sandboxAccount?: SandboxAccount | undefined
  report: Report
  /** Called for every request before it is routed. */
  observe?: RequestHandler | undefined
}

export function createApp(options: AppOptions): Express {
  const { executor, baseUrl, clients, facts, a2aRoute, registry, sandboxAccount } = options
  const app = express()
  app.disable('x-powered-by')
  app.set('query parser', false)
  app.enable('case sensitive routing')

  if (options.observe) app.use(options.observe)
  app.use(answerPreflight)
  app.use(paidRoutes({ executor, baseUrl, clients }))
  if (a2aRoute) app.use(a2aRoute)
  app.use(options.mcp)
  const { mode, payTo } = facts.terms
  const registryOptions = { registry, clients, baseUrl, payTo, a2aEnabled: a2aRoute !== undefined }
  if (mode === 'testnet') app.use(registryRoutes(registryOptions))
  if (sandboxAccount) app.use(sandboxAccountRoute({ account: sandboxAccount, baseUrl, clients, payTo, now: facts.now }))
  app.use(refuseInvalidEncoding)
  app.all(FREE_PATHS.metadata, requireRead, (_request, response) => {
    const metadata = currentMetadata(facts)
    if (!metadata) return refuse(response, { code: 'dataset_unavailable' })
    sendCurrent(response, metadata, META_CACHE_SECONDS)
  })
  app.all(FREE_PATHS.attribution, requireRead, (_request, response) =>
    sendCurrent(response, currentAttribution(facts), CACHE_SECONDS),
  )
  for (const documents of [options.signed, options.pages]) {
    // Two slashes are another path than one.
    for (const path of documents().keys())
      app.all(path === FREE_PATHS.index ? /^\/$/ : path, requireRead, currentDocument(documents, path))
  }

  app.use((_request, response) => {
    response.setHeader('Link', LINKS)
    refuse(response, { code: 'not_found' })
  })
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    options.report('request_failed', error, requestIdOf(request))
    refuse(response, { code: 'internal_error' })
  })
  return app
}

/** The paths whose document depends on `Accept`: the types, the usual one first, and their documents. */
const FORMS = new Map<string, Record<string, string>>([
  [FREE_PATHS.index, { 'application/json': FREE_PATHS.index, 'text/html': FREE_PATHS.page }],
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
  if (/%(?![0-9a-f]{2})/i.test(request.originalUrl)) sendResponse(response, renderWireError('malformed_request'))
  else next()
}

/**
 * Answers CORS preflight requests (contract 7.5). All header names are allowed, because clients send headers of their
 * own, and no answer depends on cookies or other credentials of a browser.
 */
function answerPreflight(request: Request, response: Response, next: NextFunction): void {
  if (request.method !== 'OPTIONS') return next()
  const names = (request.get('Access-Control-Request-Headers') ?? '').match(/[\w!#$%&'*+.^`|~-]+/g)
  response
    .writeHead(204, {
      'Access-Control-Allow-Methods': 'GET, HEAD, POST, OPTIONS',
      ...(names && { 'Access-Control-Allow-Headers': names.join(', ') }),
      'Access-Control-Max-Age': '600',
    })
    .end()
}
