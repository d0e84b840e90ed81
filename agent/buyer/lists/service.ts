/**
 * The local reconciliation service for OpenRefine. It buys with the money of its user, so it answers only requests to a
 * loopback name under a path that no other page of this machine can guess, and none of web pages of other hosts.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { parseJson } from '../../../store/base/read-body.ts'
import { isLoopback, parseUrl } from '../../../store/base/url-policy.ts'
import { createBuyer, PurchaseError, type BuyerOptions } from '../library/buyer.ts'
import type { BuyerRuntime } from '../library/buy.ts'
import { batchSchema, createManifest, parseQueries, toResult } from './queries.ts'
import { createRowResolver, parseRow, ROWS_AT_ONCE } from './rows.ts'

/** Ten queries, each with several thousand characters. */
const BODY_BYTES_MAX = 256 * 1024
const CONNECTIONS_MAX = 16
const RETRY_AFTER_SECONDS = 5

interface ServiceOptions extends BuyerOptions {
  url: string
  runtime: BuyerRuntime
  version: string
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

/** Bytes of the random path, as many as those of a UUID. */
const PATH_BYTES = 16

/** Returns a server that does not listen yet, and the path of its requests. */
export function openReconciliationService(options: ServiceOptions): { server: Server; path: string } {
  const { url: baseUrl, version, runtime, print } = options
  const buyer = createBuyer(options)
  const manifest = createManifest(baseUrl, version)
  const resolveRows = createRowResolver({ baseUrl, buyerOf: () => buyer, runtime })
  const context = { path: `/${randomBytes(PATH_BYTES).toString('base64url')}/`, manifest, resolveRows, print }
  const server = createServer((request, response) => {
    void answer(request, context)
      .catch((cause: unknown) => describeFailure(print, cause))
      .then((reply) => send(request, response, reply))
  })
  server.maxConnections = CONNECTIONS_MAX
  return { server, path: context.path }
}

interface AnswerContext {
  path: string
  manifest: object
  resolveRows: ReturnType<typeof createRowResolver>
  print: ServiceOptions['print']
}

async function answer(request: IncomingMessage, context: AnswerContext): Promise<Reply> {
  const { path, manifest } = context
  if (!isFromThisMachine(request)) return refuse(403, 'Only programs on this machine can use this service')
  const url = parseUrl(request.url ?? '', new URL('http://localhost'))
  if (url?.pathname !== path) return refuse(404, 'Not Found')
  if (request.method === 'OPTIONS') return ok({})
  if (request.method === 'GET' && url.search === '') return ok(manifest)
  // A page of another local port can make a browser send a GET.
  if (request.method !== 'POST') return refuse(405, 'Queries must be sent with POST')
  if (!/^application\/x-www-form-urlencoded(?:;|$)/i.test(request.headers['content-type'] ?? ''))
    return refuse(415, 'The body must be application/x-www-form-urlencoded')
  const body = await readForm(request)
  return body === undefined ? refuse(413, 'The body is too large') : answerQueries(context, new URLSearchParams(body))
}

/**
 * Each query is answered alone. One that is not valid, or cannot be bought, leaves out its key, which OpenRefine shows
 * as an error of that cell. A batch without any answer has the status of its first failure.
 */
async function answerQueries({ resolveRows, print }: AnswerContext, form: URLSearchParams): Promise<Reply> {
  const text = form.get('queries')
  if (text === null || form.size > 1) return refuse(400, 'Only queries are supported')
  const batch = batchSchema.safeParse(parseJson(text)).data
  if (batch && Object.keys(batch).length > ROWS_AT_ONCE) return refuse(413, 'The batch has too many queries')
  if (!batch) return refuse(400, 'The queries are not valid')
  const queries = parseQueries(batch)
  const settled = await Promise.allSettled(
    queries.map(async ([key, query]) => {
      if (query.isForeign) return [key, { result: [] }] as const
      const [result] = await resolveRows([parseRow(query.cells)])
      return [key, toResult(query, result)] as const
    }),
  )
  const answers = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  const [reply] = failures.map((cause) => describeFailure(print, cause))
  return reply !== undefined && answers.length === 0 ? reply : ok(Object.fromEntries(answers))
}

/**
 * Whether a request is from a program or a loopback page. `Host` stops pages that have bound their own name to this
 * address. `Origin` and `Sec-Fetch-Site` stop other pages: a browser sends one of them with every request of a page.
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

/**
 * Purchases before the failure are saved. OpenRefine repeats the batch after 503, which gets them without a second
 * charge.
 */
function describeFailure(print: ServiceOptions['print'], cause: unknown): Reply {
  if (cause instanceof PurchaseError) {
    print(`${cause.code}: ${cause.message}. ${cause.advice}`)
    if (cause.charged === 'no' || cause.code === 'payment_refused') return refuse(403, cause.code)
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
