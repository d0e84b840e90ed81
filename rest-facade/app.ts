/** The HTTP application: every route of the service, and what holds for all of them. */
import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express'
import type { CompanyAgentExecutor } from '../agent/executor/agent-executor.ts'
import { API_PREFIX } from '../agent/operation/resource.ts'
import { PAYMENT_HEADERS } from '../agent/payments/terms.ts'
import { freeDocument } from './free.ts'
import { attribution, metadata, type Facts } from './meta.ts'
import { paidRoutes, refuse } from './paid.ts'

/** The truth about the dataset may not be kept. */
const META_CACHE_SECONDS = 0

interface House {
  executor: CompanyAgentExecutor
  baseUrl: string
  facts: Facts
  /** The body of `/.well-known/jwks.json`. */
  jwks: object
  /** The HTML of `/docs`. */
  guide: string
  /** The text of `/testnet-client.py`; absent on mainnet. */
  testnetClient?: string | undefined
  /** The agent's own door and its signed card; absent when A2A is disabled. */
  a2a?: { route: Router; card: object }
  report: (event: string, cause: unknown) => void
}

export function createApp({ executor, baseUrl, facts, jwks, guide, testnetClient, a2a, report }: House): Express {
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', 'strong')
  app.set('query parser', false)
  app.enable('strict routing')
  app.enable('case sensitive routing')

  app.use(commonHeaders)
  if (a2a) app.use(a2a.route)
  app.use(paidRoutes({ executor, baseUrl }))
  const json = { type: 'json' } as const
  app.all(`${API_PREFIX}/meta`, (request, response, next) => {
    const dataset = facts.catalog.current()
    if (!dataset) return refuse(response, { code: 'dataset_unavailable' })
    const answer = freeDocument({ ...json, maxAgeSeconds: META_CACHE_SECONDS }, () => metadata(facts, dataset))
    return answer(request, response, next)
  })
  const attributed = freeDocument(json, () => attribution(facts))
  const keys = freeDocument(json, () => jwks)
  const card = freeDocument(json, () => a2a?.card)
  const page = freeDocument({ type: 'html' }, () => guide)
  app.all('/attribution', attributed)
  app.all('/.well-known/jwks.json', keys)
  app.all('/.well-known/agent-card.json', card)
  app.all('/docs', page)
  app.all(
    '/testnet-client.py',
    freeDocument({ type: 'text/x-python' }, () => testnetClient),
  )

  app.use((_request, response) => refuse(response, { code: 'not_found' }))
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    report('request_failed', error)
    refuse(response, { code: 'internal_error' })
  })
  return app
}

const COMMON_HEADERS = Object.entries({
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': `${PAYMENT_HEADERS.required}, ${PAYMENT_HEADERS.response}, Retry-After`,
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'",
  'Referrer-Policy': 'no-referrer',
})

/** CORS lets a browser client pay (decisions 3); the rest keeps a browser from reading more into an answer than JSON. */
function commonHeaders(request: Request, response: Response, next: NextFunction): void {
  // Node's own way to set them: Express looks each one up for a character set to add.
  for (const [name, value] of COMMON_HEADERS) response.setHeader(name, value)
  if (request.method !== 'OPTIONS') return next()
  response.set({
    'Access-Control-Allow-Methods': 'GET, HEAD, POST, OPTIONS',
    'Access-Control-Allow-Headers': `${PAYMENT_HEADERS.request}, Content-Type, A2A-Version, A2A-Extensions`,
    'Access-Control-Max-Age': '600',
  })
  response.status(204).end()
}
