/**
 * The HTTP server with its limits. It answers requests that exceed a limit or violate HTTP, or ends their connections.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerOptions } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Express } from 'express'
import { expressMessages } from '../../rest-facade/messages.ts'
import { toUrlHost } from '../../base/url-policy.ts'
import { CONNECTION_LIMITS, Connections, type Clients } from '../transport/http/connections.ts'
import { assignRequestId, readTarget, REQUEST_ID_HEADER, requestIdOf } from '../transport/http/request.ts'
import { commonHeaders, refuse, refuseAndClose, writeAndClose } from '../transport/http/response.ts'
import type { WIRE_CODES } from '../operation/refusal.ts'
import type { Config } from './config.ts'

/** A stop waits this long for requests in progress: twice the 30 s of a facilitator, and a margin (contract 14.4). */
const STOP_TIMEOUT_MS = 70_000
/** Connections that wait to be accepted. Node's default of 511 is full within a second of an attack. */
const BACKLOG = 4_096

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
  /** Between checks of the first two. Each one visits every connection with a request in progress [30,000]. */
  checkMs: 1_000,
  /** Request target and headers. A payment has up to 8 KiB, a query 3 KiB [16,384]. */
  headerBytes: 16_384,
  /** A browser behind two proxies sends 40. Node drops further headers silently; this server refuses them [2,000]. */
  headers: 100,
  ...CONNECTION_LIMITS,
}
export type HttpServerLimits = typeof LIMITS

interface HttpServerOptions extends Pick<ConstructorParameters<typeof Connections>[0], 'budgets' | 'clock' | 'report'> {
  config: Config
  /** Replaces limits. */
  limits?: Partial<HttpServerLimits> | undefined
}

/** Listens at once, and answers 503 `overloaded` until `open` routes requests to the app. */
export async function startHttpServer({ config, budgets, clock, report, ...options }: HttpServerOptions) {
  const { host, port, baseUrl, trustedProxies } = config
  const limits = { ...LIMITS, ...options.limits }
  let listener: RequestListener = (_request, response) => refuse(response, { code: 'overloaded' })
  const answer: RequestListener = (request, response) => {
    const code = findFault(request, limits)
    if (!request.socket.writable) response.destroy()
    else if (code === undefined) listener(request, response)
    else refuseAndClose(response, { code })
  }
  const connections = new Connections({ limits, budgets, trustedProxies, clock, report, answer })
  const messages = expressMessages((socket) => connections.isFull(socket))
  const headers = commonHeaders(baseUrl)
  const server = createLimitedServer(limits, { connections, classes: messages.options, headers })
  server.listen({ port, host, backlog: BACKLOG })
  await once(server, 'listening')
  const bound = (server.address() as AddressInfo).port
  return {
    baseUrl: baseUrl ?? `http://${toUrlHost(host)}:${bound}`,
    port: bound,
    open(app: Express) {
      messages.connectTo(app)
      listener = app
    },
    clients: connections as Clients,
    close: () => closeServer(server, connections, limits),
  }
}

function createLimitedServer(
  limits: HttpServerLimits,
  { connections, classes, headers }: { connections: Connections; classes: object; headers: Record<string, string> },
): Server {
  /** Connections that are being ended. */
  const closing = new WeakSet<Socket>()

  const handle: RequestListener = (request, response) => {
    // Requests after a fault are not trusted, and an answer could not be sent.
    if (closing.has(request.socket)) return void response.destroy()
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    response.setHeader(REQUEST_ID_HEADER, assignRequestId(request))
    if (mustEnd(request)) response.setHeader('Connection', 'close')
    connections.enqueue(response)
  }

  /**
   * Answers a fault and closes the connection. The answer follows those to earlier requests. It is left out if the
   * client could take it for a part of one of them.
   */
  function endConnection(socket: Socket, code: WireCode): void {
    if (closing.has(socket)) return
    closing.add(socket)
    socket.on('error', () => undefined)
    const last = connections.lastResponse(socket)
    /** The response of the request whose body has the fault. Otherwise the fault comes after the last request. */
    const faulty = last?.req.complete === false ? last : undefined
    const requestId = (faulty && requestIdOf(faulty.req)) ?? randomUUID()
    const write = () => {
      if (socket.writable) writeAndClose(socket, { code }, { headers: { ...headers, [REQUEST_ID_HEADER]: requestId } })
      else socket.destroySoon()
    }
    if (faulty) {
      // It has begun, or it waits for an earlier one and has no socket yet.
      if (faulty.headersSent || faulty.socket !== socket) socket.destroy()
      else write()
    } else if (last && !last.writableFinished) last.once('finish', write)
    else write()
  }

  const options: ServerOptions = {
    ...classes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
    maxHeaderSize: limits.headerBytes,
    // Node would answer without a body. `findFault` checks it instead.
    requireHostHeader: false,
  }
  const server = createServer(options, handle)
  server.timeout = limits.silenceMs
  // `findFault` limits them: Node.js drops the surplus, or from 24.21 on refuses the request without its id.
  server.maxHeadersCount = 0
  server.on('connection', (socket) => connections.admit(socket))
  // Emitted only for a request beyond a limit of its connection (rest-facade/messages.ts).
  server.on('upgrade', (_request, socket) => connections.resetFull(socket as Socket))
  // Ignores other `Expect` values; Node would answer with an empty 417.
  server.on('checkExpectation', handle)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    // Data after a request with `Connection: close`. The connection ends with the answer to that request.
    else if (error.code === 'HPE_CLOSED_CONNECTION') return
    else endConnection(socket as Socket, toWireCode(error))
  })
  return server
}

/**
 * Whether the connection closes after the answer. After CONNECT or a request for an upgrade, Node drops the rest of the
 * data that it has read. After an answer, Node reads and discards the rest of the body, and an endless chunked body
 * would take all CPU time.
 */
function mustEnd({ method, headers }: IncomingMessage): boolean {
  return method === 'CONNECT' || headers.upgrade !== undefined || headers['transfer-encoding'] !== undefined
}

/** The characters of a host with its port (RFC 3986 section 3.2). A client without one sends an empty value. */
const HOST_PATTERN = /^[\w.~!$&'()*+,;=%:[\]-]*$/

type WireCode = (typeof WIRE_CODES)[number]

/** Finds faults that Node's parser accepts: too many headers, and violations of RFC 9112 sections 3.2 and 6.1. */
function findFault(request: IncomingMessage, limits: HttpServerLimits): WireCode | undefined {
  const { rawHeaders, headers, headersDistinct, httpVersion } = request
  if (rawHeaders.length > 2 * limits.headers) return 'headers_too_large'
  const hosts = headersDistinct['host'] ?? []
  if (hosts.length > 1 || !HOST_PATTERN.test(hosts[0] ?? '')) return 'malformed_request'
  if (httpVersion === '1.1' && hosts.length === 0) return 'malformed_request'
  const coding = headers['transfer-encoding']?.toLowerCase()
  // HTTP/1.0 has no chunks. A proxy in between could see another end of the body.
  if (coding !== undefined && (httpVersion === '1.0' || coding !== 'chunked')) return 'malformed_request'
  const target = readTarget(request)
  if (target === undefined) return 'malformed_request'
  request.url = target
  return undefined
}

function toWireCode({ code }: NodeJS.ErrnoException): WireCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'malformed_request'
}

/** A closed server no longer checks the time limit of a request. */
async function closeServer(server: Server, connections: Connections, { requestMs }: HttpServerLimits): Promise<void> {
  // Connections that become idle during the stop close at once.
  server.keepAliveTimeout = 1
  const timers = [
    setTimeout(() => connections.end({ isLate: true }), requestMs),
    setTimeout(() => server.closeAllConnections(), STOP_TIMEOUT_MS),
  ]
  connections.end({ isLate: false })
  server.close()
  await once(server, 'close')
  for (const timer of timers) clearTimeout(timer)
}
