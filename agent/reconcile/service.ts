/**
 * The local reconciliation service for OpenRefine. It buys with the money of its user, so it answers only requests to a loopback
 * name, and none of web pages of other hosts.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isLoopback, parseUrl } from '../../store/base/url-policy.ts'
import { PurchaseError } from '../client/buyer.ts'
import { openBuyer, type OpenBuyerOptions } from '../client/open-buyer.ts'
import { withKeySetCache } from './key-set-cache.ts'
import { createManifest, parseQueries, toResultBatch } from './queries.ts'
import { createRowResolver, type ResolveRows } from './rows.ts'

/** Ten queries, each with several thousand characters. */
const BODY_BYTES_MAX = 256 * 1024
const CONNECTIONS_MAX = 16
const RETRY_AFTER_SECONDS = 5

interface ServiceOptions {
  baseUrl: string
  version: string
  resolveRows: ResolveRows
  /** Prints a line about a batch that failed. */
  print: (line: string) => void
}

/** OpenRefine shows its user only the status line, so the reason phrase names the error. */
interface Reply {
  status: number
  reason: string
  body: object
  retryAfterSeconds?: number
}

interface OpenServiceOptions extends OpenBuyerOptions {
  version: string
  print: (line: string) => void
}

/** Returns a server that does not listen yet. */
export async function openReconciliationService(options: OpenServiceOptions): Promise<Server> {
  const { baseUrl, version, print } = options
  const { now, sleep } = options.runtime
  const runtime = { now, sleep, fetch: withKeySetCache(options.runtime.fetch, { baseUrl, now }) }
  const buyer = await openBuyer({ ...options, runtime })
  return createReconciliationService({
    baseUrl,
    version,
    print,
    resolveRows: createRowResolver({ baseUrl, buyerOf: () => Promise.resolve(buyer), runtime }),
  })
}

function createReconciliationService(options: ServiceOptions): Server {
  const manifest = createManifest(options.baseUrl, options.version)
  const server = createServer((request, response) => {
    void answer(options, manifest, request)
      .catch((cause: unknown) => describeFailure(options, cause))
      .then((reply) => send(request, response, reply))
  })
  server.maxConnections = CONNECTIONS_MAX
  return server
}

async function answer(options: ServiceOptions, manifest: object, request: IncomingMessage): Promise<Reply> {
  if (!isFromThisMachine(request)) return refuse(403, 'Only programs on this machine can use this service')
  const url = parseUrl(request.url ?? '', new URL('http://localhost'))
  if (url?.pathname !== '/') return refuse(404, 'Not Found')
  if (request.method === 'OPTIONS') return ok({})
  if (request.method === 'GET') return url.search === '' ? ok(manifest) : answerQueries(options, url.searchParams)
  if (request.method !== 'POST') return refuse(405, 'Method Not Allowed')
  if (!/^application\/x-www-form-urlencoded(?:;|$)/i.test(request.headers['content-type'] ?? ''))
    return refuse(415, 'The body must be application/x-www-form-urlencoded')
  const body = await readForm(request)
  return body === undefined ? refuse(413, 'The body is too large') : answerQueries(options, new URLSearchParams(body))
}

async function answerQueries({ resolveRows }: ServiceOptions, form: URLSearchParams): Promise<Reply> {
  const [queries, ...others] = form.getAll('queries')
  if (queries === undefined || others.length > 0 || [...form.keys()].length > 1)
    return refuse(400, 'Only queries are supported')
  const parsed = parseQueries(queries)
  if (parsed.kind === 'invalid') return refuse(400, 'The queries are not valid')
  if (parsed.kind === 'too_many') return refuse(413, 'The batch has too many queries')
  const results = await resolveRows(parsed.queries.map(([, { cells }]) => cells))
  return ok(toResultBatch(parsed.queries, results))
}

/**
 * Whether a request is from a program or a loopback page. `Host` stops pages that have bound their own name to this address.
 * `Origin` and `Sec-Fetch-Site` stop other pages: a browser sends one of them with every request of a page.
 */
function isFromThisMachine({ headers }: IncomingMessage): boolean {
  const host = parseUrl(`http://${headers.host ?? ''}`)
  if (!host || !isLoopback(host.hostname)) return false
  if (headers.origin !== undefined) return isLoopbackOrigin(headers.origin)
  return headers['sec-fetch-site'] !== 'cross-site'
}

function isLoopbackOrigin(origin: string): boolean {
  const url = parseUrl(origin)
  return url !== undefined && isLoopback(url.hostname)
}

/** Undefined if the body is too large. */
async function readForm(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    // The rest is read and dropped, so that the client reads the answer.
    if (length <= BODY_BYTES_MAX) chunks.push(chunk)
    else if (length > 4 * BODY_BYTES_MAX) break
  }
  return length <= BODY_BYTES_MAX ? Buffer.concat(chunks).toString() : undefined
}

const ok = (body: object): Reply => ({ status: 200, reason: 'OK', body })
const refuse = (status: number, reason: string): Reply => ({ status, reason, body: { error: reason } })

/** Errors that a repetition of the same batch can end. OpenRefine repeats after 503. */
const REPEATABLE: ReadonlySet<string> = new Set(['outcome_unknown'])

/** Purchases before the failure are saved. A repeated batch gets them without a second charge. */
function describeFailure({ print }: ServiceOptions, cause: unknown): Reply {
  if (cause instanceof PurchaseError) {
    print(`${cause.code}: ${cause.message}. ${cause.advice}`)
    if (!REPEATABLE.has(cause.code)) return refuse(403, cause.code)
    return { ...refuse(503, cause.code), retryAfterSeconds: RETRY_AFTER_SECONDS }
  }
  print(cause instanceof Error ? cause.message : 'The service failed')
  return { ...refuse(503, 'service_unreachable'), retryAfterSeconds: RETRY_AFTER_SECONDS }
}

function send({ headers: { origin } }: IncomingMessage, response: ServerResponse, reply: Reply): void {
  const { status, reason, body, retryAfterSeconds } = reply
  // A batch can take a minute, after which the client may be gone. The purchases are saved.
  if (response.destroyed) return
  response.writeHead(status, reason, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Vary: 'Origin',
    ...(origin !== undefined && isLoopbackOrigin(origin) && { 'Access-Control-Allow-Origin': origin }),
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
  })
  response.end(JSON.stringify(body))
}
