/**
 * The connections of the HTTP server: the one place in which a connection is admitted. Each connection runs one request
 * at a time; pipelined requests wait. A connection that exceeds a limit is reset, and its stored answers stay.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Report } from '../../../store/base/runtime.ts'
import { rateLimited } from '../../operation/outcome.ts'
import type { AddressBudgets, Client } from '../../sale/limits/address-budget.ts'
import { PrefixTree } from '../../sale/limits/prefix-tree.ts'
import { clientPrefixes, prefixesOf } from './client-address.ts'
import { renderOutcome } from './render-outcome.ts'
import { hasBody } from './request.ts'
import { HELD_EVENT, sendResponse } from './response.ts'
import { Turns } from './turns.ts'

interface ConnectionLimits {
  /** Open connections. */
  connections: number
  /** Open connections of one address. Those of a trusted proxy are not limited. */
  addressConnections: number
  /** Bytes of answers that clients have not read, without those in the kernel. */
  unsentBytes: number
  addressUnsentBytes: number
  /** Requests of one connection whose answers are not sent yet. */
  unanswered: number
}

/** Smaller answers are not counted. Those of all connections need 32 MiB. */
const SMALL_ANSWER_BYTES = 16_384
/** Resets are counted in the log at most this often. */
export const REPORT_INTERVAL_MS = 60_000

/** Why connections were reset: too many requests, too many connections, or answers that were not read. */
const NO_RESETS = { pipelining: 0, surplus: 0, unread: 0 }

interface PipelinedRequest {
  response: ServerResponse
  run: () => void
}

/**
 * `idle`: has no request, or is receiving one or sending an answer. `kept`: the payment of the running request is
 * verified or recorded.
 */
type Activity = 'idle' | 'running' | 'kept'

interface Connection {
  readonly socket: Socket
  /** Of the client of the last request, or of the socket before the first one. */
  prefixes: readonly string[]
  /** Undefined for a connection that was not admitted. */
  activity: Activity | undefined
  /** Whether it is one too many of its address. It gets one answer, 429. */
  readonly isSurplus: boolean
  /** Of the last request. */
  client: HttpClient | undefined
  /** In the order of arrival. The first one is running or being sent. */
  readonly unanswered: PipelinedRequest[]
}

interface ConnectionsOptions {
  limits: ConnectionLimits
  budgets: AddressBudgets
  /** The number of reverse proxies whose `X-Forwarded-For` entry is trusted. */
  trustedProxies: number
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
  report: Report
}

/** The client of each request. */
export interface Clients {
  of: (request: IncomingMessage) => HttpClient
}

export interface HttpClient extends Client {
  /** Runs the work when the requests of other address prefixes have had their turn. Call it when the body is read. */
  takeTurn: (work: () => void) => void
}

export class Connections implements Clients {
  readonly #options: ConnectionsOptions
  readonly #turns = new Turns()
  readonly #open = new Map<Socket, Connection>()
  /** The admitted connections. Within a prefix, ordered by the time since when they have this activity. */
  readonly #admitted = {
    idle: new PrefixTree<Connection>(),
    running: new PrefixTree<Connection>(),
    kept: new PrefixTree<Connection>(),
  }
  /** The connections with unread answers, with their bytes. Within a prefix, the slowest reader first. */
  readonly #unsent = new PrefixTree<Connection>()
  #isStopping = false
  #isProxyReported = false
  /** Resets that are not in the log yet. */
  #resets = { ...NO_RESETS }
  #reportedAt = -Infinity

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  /**
   * Admits a connection, and resets another one if there are too many: an idle one before one with a request, and first
   * of the prefix with the most. One too many of its address is closed, with 429 if it has sent a request.
   */
  admit(socket: Socket): void {
    const { limits, trustedProxies } = this.#options
    const prefixes = prefixesOf(socket.remoteAddress ?? '') ?? []
    const { idle, running, kept } = this.#admitted
    const ofAddress = [idle, running, kept].reduce((sum, tree) => sum + tree.sizeOf(prefixes), 0)
    const isSurplus = trustedProxies === 0 && ofAddress >= limits.addressConnections
    const connection: Connection = {
      socket,
      prefixes,
      activity: undefined,
      isSurplus,
      client: undefined,
      unanswered: [],
    }
    this.#open.set(socket, connection)
    socket.once('close', () => this.#remove(connection))
    if (isSurplus) return this.#closeUnused(connection)
    // With a verified payment on every other connection, the new one is reset.
    if (this.#open.size > limits.connections)
      this.#reset(idle.largest()[0] ?? running.largest()[0] ?? connection, 'surplus')
    this.#move(connection, 'idle')
  }

  /** The client of a running request. */
  of({ socket }: IncomingMessage): HttpClient {
    const client = this.#open.get(socket)?.client
    if (!client) throw new Error('The request has no open connection')
    return client
  }

  /** Whether the next request of the connection exceeds a limit. */
  isFull(socket: Socket): boolean {
    return (this.#open.get(socket)?.unanswered.length ?? 0) >= this.#options.limits.unanswered
  }

  /** Runs the request in its turn, when all earlier answers of its connection are sent. */
  enqueue(request: PipelinedRequest): void {
    const { response } = request
    const { socket } = response.req
    const connection = this.#open.get(socket)
    if (!connection) return void response.destroy()
    if (connection.isSurplus) request.run = () => sendResponse(response, renderOutcome(rateLimited(0)))
    if (connection.isSurplus || this.#isStopping) closeAfter(response)
    response.on('prefinish', () => this.#handOver(connection, socket.writableLength))
    response.on(HELD_EVENT, (bytes: number) => this.#handOver(connection, bytes))
    response.on('finish', () => this.#runNext(connection))
    connection.unanswered.push(request)
    if (connection.unanswered.length === 1) this.#begin(connection, request)
  }

  /** The response to the newest unanswered request of a connection. */
  lastResponse(socket: Socket): ServerResponse | undefined {
    return this.#open.get(socket)?.unanswered.at(-1)?.response
  }

  /** Resets a connection that exceeds a limit of pipelined requests. */
  resetPipelining(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection) this.#reset(connection, 'pipelining')
  }

  /** From now on every answer closes its connection. */
  closeAfterAnswers(): void {
    this.#isStopping = true
    for (const { unanswered } of this.#open.values()) for (const { response } of unanswered) closeAfter(response)
  }

  /**
   * Ends connections without a request, also those that have never sent one. Node's `closeIdleConnections` keeps these,
   * and a closed server no longer checks their time limits.
   */
  closeIdle(): void {
    for (const [socket, { unanswered }] of this.#open) if (unanswered.length === 0) socket.destroySoon()
  }

  /** Ends connections that wait for the rest of a request. */
  closeIncomplete(): void {
    for (const [socket, { unanswered }] of this.#open)
      if (unanswered[0]?.response.req.complete === false) socket.destroy()
  }

  /** Writes the resets that are not in the log yet. */
  reportResets(): void {
    const { pipelining, surplus, unread } = this.#resets
    if (pipelining + surplus + unread === 0) return
    this.#resets = { ...NO_RESETS }
    this.#reportedAt = this.#options.clock()
    this.#options.report('connections_reset', `${pipelining} pipelining ${surplus} surplus ${unread} unread`)
  }

  #begin(connection: Connection, { response, run }: PipelinedRequest): void {
    connection.client = this.#identify(connection, response)
    const { prefixes } = connection.client
    this.#move(connection, hasBody(response.req) ? 'idle' : 'running', prefixes)
    this.#turns.run(prefixes, run)
  }

  #identify(connection: Connection, response: ServerResponse): HttpClient {
    const { budgets, trustedProxies, report } = this.#options
    const { req: request } = response
    if (trustedProxies === 0 && !this.#isProxyReported && request.headers['x-forwarded-for'] !== undefined) {
      this.#isProxyReported = true
      report(
        'proxy_not_trusted',
        'X-Forwarded-For is sent and TRUST_PROXY is 0, so all clients of the proxy share one budget',
      )
    }
    const prefixes = trustedProxies === 0 ? connection.prefixes : clientPrefixes(request, trustedProxies)
    const address = prefixes.at(-1) ?? ''
    return {
      address,
      prefixes,
      budget: budgets.enter(address),
      connection: new RequestConnection(response, () => this.#move(connection, 'kept')),
      takeTurn: (work: () => void) => {
        this.#move(connection, 'running')
        this.#turns.run(prefixes, work)
      },
    }
  }

  /** The answer is handed to the socket: the request is over, and its client has to read. */
  #handOver(connection: Connection, unsentBytes: number): void {
    const { limits } = this.#options
    const { prefixes } = connection
    this.#move(connection, 'idle')
    this.#unsent.remove(prefixes, connection)
    if (unsentBytes <= SMALL_ANSWER_BYTES) return
    this.#unsent.add(prefixes, connection, unsentBytes)
    const slowest =
      this.#unsent.sizeOf(prefixes) > limits.addressUnsentBytes
        ? this.#unsent.largest(prefixes)
        : this.#unsent.size > limits.unsentBytes
          ? this.#unsent.largest()
          : []
    if (slowest[0]) this.#reset(slowest[0], 'unread')
  }

  #runNext(connection: Connection): void {
    this.#unsent.remove(connection.prefixes, connection)
    connection.unanswered.shift()
    const [next] = connection.unanswered
    // After an answer with `Connection: close`, the server has ended the connection.
    if (next && connection.socket.writable) this.#begin(connection, next)
  }

  /** Does nothing for a connection that is being closed. */
  #move(connection: Connection, activity: Activity, prefixes = connection.prefixes): void {
    if (!this.#open.has(connection.socket)) return
    if (connection.activity) this.#admitted[connection.activity].remove(connection.prefixes, connection)
    connection.activity = activity
    connection.prefixes = prefixes
    this.#admitted[activity].add(prefixes, connection)
  }

  /** What the client has sent is read in the next turn of the event loop. */
  #closeUnused(connection: Connection): void {
    const close = () => {
      if (connection.unanswered.length === 0) this.#reset(connection, 'surplus')
    }
    setImmediate(() => setImmediate(close))
  }

  #remove(connection: Connection): void {
    const { socket, prefixes, activity, unanswered } = connection
    if (!this.#open.delete(socket)) return
    if (activity) this.#admitted[activity].remove(prefixes, connection)
    this.#unsent.remove(prefixes, connection)
    unanswered.length = 0
  }

  /** A reset also frees what the kernel has not sent yet. */
  #reset(connection: Connection, reason: keyof typeof NO_RESETS): void {
    const { socket } = connection
    this.#remove(connection)
    socket.on('error', () => undefined)
    socket.resetAndDestroy()
    this.#resets[reason] += 1
    if (this.#options.clock() - this.#reportedAt >= REPORT_INTERVAL_MS) this.reportResets()
  }
}

/** Ends with the response, or with the connection before it. */
export class RequestConnection {
  readonly #response: ServerResponse
  readonly keepOpen: () => void

  constructor(response: ServerResponse, keepOpen: () => void) {
    this.#response = response
    this.keepOpen = keepOpen
  }

  hasLeft(): boolean {
    return this.#response.destroyed
  }

  onLeave(callback: () => void): () => void {
    this.#response.once('close', callback)
    return () => void this.#response.off('close', callback)
  }
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}
