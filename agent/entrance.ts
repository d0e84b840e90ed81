/** The HTTP server itself: its limits, and what it says to a client that breaks them or HTTP. */
import { createServer, STATUS_CODES, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { createApp } from '../rest-facade/app.ts'
import { expressMessages } from '../rest-facade/messages.ts'
import { COMMON_HEADERS, sendReply } from './executor/http.ts'
import { replyTo, type Reply } from './executor/reply.ts'
import { refused } from './operation/outcome.ts'
import { WIRE_REFUSALS } from './operation/refusal.ts'
import type { Config } from './config.ts'

/** How long a stop waits for requests in flight: a facilitator's 30 s, twice, and some (decisions 10). */
const STOP_TIMEOUT_MS = 70_000
/** How soon a stop notices that a request in flight was answered. */
const SWEEP_MS = 100
/** A client that was refused has this long to read why, and what it still sends is thrown away. */
const LINGER_MS = 1_000

export interface ServerLimits {
  headersMs: number
  requestMs: number
  keepAliveMs: number
  silenceMs: number
  checkMs: number
  headerBytes: number
  headers: number
  connections: number
  requestsPerSocket: number
}

/** The unit is the last word of a name; what is only counted has none. Node's own default stands in brackets. */
const LIMITS: ServerLimits = {
  /** A client that takes longer for its headers is holding a socket; one that sends nothing, too [60,000]. */
  headersMs: 10_000,
  /** The same for the whole of a request: 16 KiB at most [300,000]. */
  requestMs: 15_000,
  /** Above the 60 s that common proxies keep their own connections for: who closes first loses no request [5,000]. */
  keepAliveMs: 65_000,
  /** No byte either way: a client that doesn't read. Above the 90 s that a sale may take in all [none]. */
  silenceMs: 120_000,
  /** How far the first two may be overrun; a check costs a walk over the connections with a request under way [30,000]. */
  checkMs: 1_000,
  /** A payment takes up to 8 KiB, a query 3 KiB; target and headers together [16,384]. */
  headerBytes: 16_384,
  /** A browser behind two proxies sends 40. Node leaves out what is beyond its limit, in silence; we refuse [2,000]. */
  headers: 100,
  /** About 0.2 GiB of sockets, parsers and buffers; what comes beyond is closed unanswered, and idle ones with it [none]. */
  connections: 10_000,
  /** None: an old connection costs what a new one does, and Node answers those beyond with a bare 503 [none]. */
  requestsPerSocket: 0,
}

export interface Entrance {
  baseUrl: string
  /** Lets requests in; before, they are asked to come again. */
  open(app: ReturnType<typeof createApp>): void
  close(): Promise<void>
}

export async function openEntrance(
  { host, port, baseUrl }: Config,
  changed: Partial<ServerLimits> = {},
): Promise<Entrance> {
  let listener: RequestListener = (_request, response) =>
    sendReply(response, replyTo(refused({ code: 'overloaded', retryAfterSeconds: 1 })))
  const messages = expressMessages()
  const server = limitedServer({ ...LIMITS, ...changed }, messages.options, (request, response) =>
    listener(request, response),
  )
  await listen(server, host, port)
  const bound = (server.address() as AddressInfo).port
  return {
    baseUrl: baseUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    open(app) {
      messages.adoptBy(app)
      listener = app
    },
    close: () => close(server),
  }
}

function limitedServer(limits: ServerLimits, options: object, listener: RequestListener): Server {
  /** The response to the last request of a connection. */
  const latest = new WeakMap<Socket, ServerResponse>()
  /** Connections that are being ended. */
  const closing = new WeakSet<Socket>()

  const take: RequestListener = (request, response) => {
    const { socket } = request
    // What comes after a fault is not to be trusted, and nobody would hear the answer.
    if (closing.has(socket)) return void response.destroy()
    latest.set(socket, response)
    const code = faultOf(request, limits)
    if (code === undefined) return listener(request, response)
    sendReply(response, { ...wireReply(code), headers: { ...wireReply(code).headers, Connection: 'close' } })
  }

  /** Answers a fault of the connection, in its turn, or not at all where the answer could be taken for another's. */
  function end(socket: Socket, reply: Reply): void {
    if (closing.has(socket)) return
    closing.add(socket)
    socket.on('error', () => undefined)
    const last = latest.get(socket)
    if (!socket.writable) socket.destroy()
    else if (!last || last.writableFinished) sayAndClose(socket, reply)
    else if (last.req.complete) last.once('finish', () => sayAndClose(socket, reply))
    else if (last.headersSent || last.socket !== socket) socket.destroy()
    else sayAndClose(socket, reply)
  }

  const server = createServer(
    {
      ...options,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.checkMs,
      maxHeaderSize: limits.headerBytes,
      // Node would answer without a body; `faultOf` looks for it.
      requireHostHeader: false,
    },
    take,
  )
  server.timeout = limits.silenceMs
  // One more is let through, to be seen.
  server.maxHeadersCount = limits.headers + 1
  server.maxConnections = limits.connections
  server.maxRequestsPerSocket = limits.requestsPerSocket
  server.on('drop', makeRoom(server, limits))
  // What else is expected of us is of no concern; Node would answer 417 without a body.
  server.on('checkExpectation', take)
  server.on('connect', (_request, socket) => {
    end(socket as Socket, replyTo(refused({ code: 'method_not_allowed', allow: 'GET, HEAD, POST, OPTIONS' })))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else end(socket as Socket, wireReply(codeOf(error)))
  })
  return server
}

/**
 * Those who keep a connection for later make room for those who come now: one request on each would otherwise close the
 * service to others for as long as an idle connection is kept. It takes a walk over all of them.
 */
function makeRoom(server: Server, { checkMs }: ServerLimits): () => void {
  let hasJustDone = false
  return () => {
    if (hasJustDone) return
    hasJustDone = true
    setTimeout(() => (hasJustDone = false), checkMs).unref()
    server.closeIdleConnections()
  }
}

/** What Node's parser lets pass. Of a second Host it says nothing, and drops it (RFC 9112 section 3.2). */
function faultOf({ rawHeaders, httpVersion }: IncomingMessage, limits: ServerLimits): string | undefined {
  if (rawHeaders.length > 2 * limits.headers) return 'headers_too_large'
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts > 1 || (hosts === 0 && httpVersion === '1.1') ? 'malformed_request' : undefined
}

function codeOf({ code }: NodeJS.ErrnoException): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'malformed_request'
}

function wireReply(code: string): Reply {
  const { status, message } = WIRE_REFUSALS.get(code) ?? { status: 400, message: '' }
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'private, no-store' }
  return { status, headers, body: JSON.stringify({ error: { code, message } }) }
}

function sayAndClose(socket: Socket, { status, headers, body }: Reply): void {
  const all = { ...COMMON_HEADERS, ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroySoon())
  socket.resume()
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), STOP_TIMEOUT_MS)
    // A connection whose last request was answered after the stop began would be kept for as long as an idle one.
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
    server.close(() => {
      clearTimeout(timer)
      clearInterval(sweep)
      resolve()
    })
    server.closeIdleConnections()
  })
}
