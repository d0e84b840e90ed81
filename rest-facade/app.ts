/** The HTTP application: every route of the service, and what holds for all of them. */
import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express'
import type { CompanyAgentExecutor } from '../agent/executor/agent-executor.ts'
import { COMMON_HEADERS } from '../agent/executor/http.ts'
import { API_PREFIX } from '../agent/operation/resource.ts'
import { PAYMENT_HEADERS } from '../agent/payments/terms.ts'
import { UNREGISTERED, type Registry } from '../agent/registry/registry.ts'
import { staticDocument } from './document.ts'
import type { Page } from './documents/pages.ts'
import { freeDocument } from './free.ts'
import { attribution, metadata, type Facts } from './meta.ts'
import { paidRoutes, refuse } from './paid.ts'
import { registryRoutes } from './registry.ts'

/** The truth about the dataset may not be kept. */
const META_CACHE_SECONDS = 0

const GUIDE_PATH = '/docs'
const GUIDE_MARKDOWN_PATH = '/docs/api.md'

/** Where the documents are, for whoever begins at any of them, or nowhere (RFC 8288). */
const LINKS = [
  '</openapi.json>; rel="service-desc"; type="application/json"',
  '</docs>; rel="service-doc"; type="text/html"',
  '</docs/api.md>; rel="alternate service-doc"; type="text/markdown"',
  '</llms.txt>; rel="llms-txt"; type="text/plain"',
].join(', ')

interface House {
  executor: CompanyAgentExecutor
  baseUrl: string
  facts: Facts
  /** The body of `/.well-known/jwks.json`. */
  jwks: object
  /** The written documents by their paths. */
  pages: ReadonlyMap<string, Page>
  /** The text of `/testnet-client.py`; absent on mainnet. */
  testnetClient?: string | undefined
  /** The agent's own door and its signed card; absent when A2A is disabled. */
  a2a?: { route: Router; card: object }
  /** Our place in ERC-8004's registries, which testnet has routes about; nobody's unless given. */
  registry?: Registry
  report: (event: string, cause: unknown) => void
}

export function createApp({
  executor,
  baseUrl,
  facts,
  jwks,
  pages,
  testnetClient,
  a2a,
  registry = UNREGISTERED,
  report,
}: House): Express {
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', 'strong')
  app.set('query parser', false)
  app.enable('strict routing')
  app.enable('case sensitive routing')

  // Express tries one after the other: the busiest stand first.
  app.use(paidRoutes({ executor, baseUrl }))
  app.use(commonHeaders)
  if (a2a) app.use(a2a.route)
  const { mode, network, payTo } = facts.terms
  const registered = { registry, baseUrl, network, payTo, a2aEnabled: a2a !== undefined, now: facts.now }
  if (mode === 'testnet') app.use(registryRoutes(registered))
  app.all(`${API_PREFIX}/meta`, (request, response, next) => {
    const dataset = facts.catalog.current()
    if (!dataset) return refuse(response, { code: 'dataset_unavailable' })
    return freeDocument(() => metadata(facts, dataset), META_CACHE_SECONDS)(request, response, next)
  })
  app.all(
    '/attribution',
    freeDocument(() => attribution(facts)),
  )
  for (const [path, page] of documents({ jwks, pages, testnetClient, a2a })) {
    const markdown = path === GUIDE_PATH ? pages.get(GUIDE_MARKDOWN_PATH) : undefined
    app.all(path, staticDocument(page, { links: LINKS, markdown }))
  }

  app.use((_request, response) => {
    response.setHeader('Link', LINKS)
    refuse(response, { code: 'not_found' })
  })
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    report('request_failed', error)
    refuse(response, { code: 'internal_error' })
  })
  return app
}

type Written = Pick<House, 'jwks' | 'pages'> & { a2a: House['a2a'] | undefined; testnetClient: string | undefined }

/** Every document that stays as it is, by its path. */
function documents({ jwks, pages, testnetClient, a2a }: Written): Map<string, Page> {
  const json = (value: object): Page => ({ type: 'application/json', text: JSON.stringify(value) })
  const python = (text: string): Page => ({ type: 'text/x-python', text })
  return new Map([
    ...pages,
    ['/.well-known/jwks.json', json(jwks)],
    ...(a2a ? [['/.well-known/agent-card.json', json(a2a.card)] as const] : []),
    ...(testnetClient === undefined ? [] : [['/testnet-client.py', python(testnetClient)] as const]),
  ])
}

/** For the documents, which set theirs one by one; and the answer to a browser that asks before it sends (CORS). */
function commonHeaders(request: Request, response: Response, next: NextFunction): void {
  // Node's own way to set them: Express looks each one up for a character set to add.
  for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value)
  if (request.method !== 'OPTIONS') return next()
  response.set({
    'Access-Control-Allow-Methods': 'GET, HEAD, POST, OPTIONS',
    'Access-Control-Allow-Headers': `${PAYMENT_HEADERS.request}, Content-Type, A2A-Version, A2A-Extensions`,
    'Access-Control-Max-Age': '600',
  })
  response.status(204).end()
}
