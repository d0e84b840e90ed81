/** The HTTP server with its limits. It answers requests that exceed a limit or violate HTTP. */
import { once } from 'node:events'
import { createServer, STATUS_CODES } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { createApp } from '../rest-facade/app.ts'
import { expressMessages } from '../rest-facade/messages.ts'
import { commonHeaders, sendResponse } from './http/response.ts'
import { renderOutcome, type HttpResponseContent } from './http/render-outcome.ts'
import { refused } from './operation/outcome.ts'
import { WIRE_REFUSALS } from './operation/refusal.ts'
import type { Config } from './config.ts'

/** A stop waits this long for requests in progress: twice the 30 s of a facilitator, and a margin (contract 14.4). */
const STOP_TIMEOUT_MS = 70_000
/** The interval at which a stop closes connections that have become idle. */
const IDLE_SWEEP_MS = 100
/** After an error answer the connection stays open this long, so that the client can read it. Its input is discarded. */
const LINGER_MS = 1_000

/** Names end in the unit; counts have none. Node's defaults are in brackets. */
const LIMITS = {
  /** For the headers of a request. Slow clients occupy sockets [60,000]. */
  headersMs: 10_000,
  /** For a whole request, which has at most 16 KiB [300,000]. */
  requestMs: 15_000,
  /** Longer than the 60 s of common proxies, so that the proxy closes first and no request is lost [5,000]. */
  keepAliveMs: 65_000,
  /** Without a byte in either direction. Longer than the slowest sale, which takes 90 s [none]. */
  silenceMs: 120_000,
  /** Interval at which `headersMs` and `requestMs` are checked. A check visits every connection with a request [30,000]. */
  checkMs: 1_000,
  /** Request target and headers. A payment has up to 8 KiB, a query 3 KiB [16,384]. */
  headerBytes: 16_384,
  /** A browser behind two proxies sends 40. Node drops further headers silently; this server refuses them [2,000]. */
  headers: 100,
  /** Need about 0.2 GiB of memory. Further connections are closed, and idle ones as well [none]. */
  connections: 10_000,
}
export type HttpServerLimits = typeof LIMITS

/** Listens at once, and answers 503 `overloaded` until `open` routes requests to the app. */
export async function startHttpServer({ host, port, baseUrl }: Config, limits: Partial<HttpServerLimits> = {}) {
  let listener: RequestListener = (_request, response) =>
    sendResponse(response, renderOutcome(refused({ code: 'overloaded' })))
  const messages = expressMessages()
  const server = createLimitedServer({
    limits: { ...LIMITS, ...limits },
    classes: messages.options,
    headers: commonHeaders(baseUrl),
    listener: (request, response) => listener(request, response),
  })
  server.listen(port, host)
  await once(server, 'listening')
  const bound = (server.address() as AddressInfo).port
  return {
    baseUrl: baseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    open(app: ReturnType<typeof createApp>) {
      messages.connectTo(app)
      listener = app
    },
    close: () => closeServer(server),
  }
}

interface ServerParts {
  limits: HttpServerLimits
  /** The request and response classes. */
  classes: object
  /** Sent with every response. */
  headers: Readonly<Record<string, string>>
  listener: RequestListener
}

function createLimitedServer({ limits, classes, headers, listener }: ServerParts): Server {
  /** The response to the last request of a connection. */
  const latest = new WeakMap<Socket, ServerResponse>()
  /** Connections that are being ended. */
  const closing = new WeakSet<Socket>()

  const handle: RequestListener = (request, response) => {
    const { socket } = request
    // Requests after a fault are not trusted, and an answer could not be sent.
    if (closing.has(socket)) return void response.destroy()
    latest.set(socket, response)
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    const code = findFault(request, limits)
    if (code === undefined) return listener(request, response)
    const error = renderWireError(code)
    sendResponse(response, { ...error, headers: { ...error.headers, Connection: 'close' } })
  }

  /** Sends the error after the answers to earlier requests, or not at all if the client could take it for one of them. */
  function endConnection(socket: Socket, reply: HttpResponseContent): void {
    if (closing.has(socket)) return
    closing.add(socket)
    socket.on('error', () => undefined)
    const last = latest.get(socket)
    const write = () => writeAndClose(socket, { ...reply, headers: { ...headers, ...reply.headers } })
    if (!socket.writable) socket.destroy()
    else if (!last || last.writableFinished) write()
    else if (last.req.complete) last.once('finish', write)
    else if (last.headersSent || last.socket !== socket) socket.destroy()
    else write()
  }

  const server = createServer(
    {
      ...classes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.checkMs,
      maxHeaderSize: limits.headerBytes,
      // Node would answer without a body. `findFault` checks it instead.
      requireHostHeader: false,
    },
    handle,
  )
  server.timeout = limits.silenceMs
  // One header more, so that `findFault` sees that there are too many.
  server.maxHeadersCount = limits.headers + 1
  server.maxConnections = limits.connections
  server.on('drop', closeIdleWhenFull(server, limits))
  // Ignores other `Expect` values; Node would answer with an empty 417.
  server.on('checkExpectation', handle)
  server.on('connect', (_request, socket) => {
    const refusal = refused({ code: 'method_not_allowed', allow: 'GET, HEAD, POST, OPTIONS' })
    endConnection(socket as Socket, renderOutcome(refusal))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else endConnection(socket as Socket, renderWireError(toWireCode(error)))
  })
  return server
}

/**
 * Closes idle connections when the limit is reached. Otherwise a client could block the service by sending one request on
 * each of many connections. Rate-limited, because it visits every connection.
 */
function closeIdleWhenFull(server: Server, { checkMs }: HttpServerLimits): () => void {
  let isPaused = false
  return () => {
    if (isPaused) return
    isPaused = true
    setTimeout(() => (isPaused = false), checkMs).unref()
    server.closeIdleConnections()
  }
}

/** Finds faults that Node's parser accepts: too many headers, and a missing or second Host (RFC 9112 section 3.2). */
function findFault(request: IncomingMessage, limits: HttpServerLimits): string | undefined {
  const { rawHeaders, headersDistinct, httpVersion } = request
  if (rawHeaders.length > 2 * limits.headers) return 'headers_too_large'
  const hosts = headersDistinct['host']?.length ?? 0
  return hosts > 1 || (hosts === 0 && httpVersion === '1.1') ? 'malformed_request' : undefined
}

function toWireCode({ code }: NodeJS.ErrnoException): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'malformed_request'
}

function renderWireError(code: string): HttpResponseContent {
  const { status, message } = WIRE_REFUSALS.get(code) ?? { status: 400, message: '' }
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'private, no-store' }
  return { status, headers, body: JSON.stringify({ error: { code, message } }) }
}

/** Writes an answer without Node's HTTP layer and closes the connection when the client has read it. */
function writeAndClose(socket: Socket, { status, headers, body }: HttpResponseContent): void {
  const all = { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroySoon())
  socket.resume()
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), STOP_TIMEOUT_MS)
    // A connection that becomes idle during the stop would otherwise stay open for the keep-alive time.
    const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS)
    server.close(() => {
      clearTimeout(timer)
      clearInterval(sweep)
      resolve()
    })
  })
}
