/**
 * The connections of the HTTP server: the one place in which a connection is admitted. Each connection runs one request
 * at a time; pipelined requests wait. A connection that exceeds a limit is reset, and its stored answers stay.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Report } from '../../../store/base/runtime.ts'
import { rateLimited } from '../../operation/outcome.ts'
import type { AddressBudgets, Client } from '../../sale/limits/address-budget.ts'
import { ofLargestPrefix } from '../../sale/limits/prefix-tree.ts'
import { WorkQueue } from '../../sale/limits/work-queue.ts'
import { clientPrefixes, prefixesOf } from './client-address.ts'
import { renderOutcome } from './render-outcome.ts'
import { hasBody } from './request.ts'
import { sendResponse } from './response.ts'

/** Node's defaults are in brackets. */
export const CONNECTION_LIMITS = {
  /** Open connections; about 100 MiB with the largest requests. A further connection resets another one [none]. */
  connections: 2_000,
  /** Of one address: twice the sales that it may have in progress. Those of a trusted proxy are not limited [none]. */
  addressConnections: 128,
  /**
   * Bytes of answers that clients have not read, without those in the kernel. Beyond, the slowest reader is reset. Its
   * answer stays stored [none].
   */
  unsentBytes: 64 * 1_048_576,
  /** The largest answer has 2.3 MiB, over MCP. */
  addressUnsentBytes: 4 * 1_048_576,
  /** Pipelined requests of a connection, at most 16 KiB each. One more resets the connection [none]. */
  unanswered: 4,
}

/** Smaller answers are not counted. Those of all connections need 32 MiB. */
const SMALL_ANSWER_BYTES = 16_384
/**
 * Requests that begin in each iteration of the event loop: some hundred microseconds of work. Node accepts one
 * connection in each iteration.
 */
const BEGUN_PER_ITERATION_MAX = 8
/** Each reason of resets is in the log at most this often. */
export const REPORT_INTERVAL_MS = 60_000

/**
 * `idle`: has no request, or is receiving one or sending an answer. `kept`: the payment of the running request is
 * verified or recorded.
 */
type Activity = 'idle' | 'running' | 'kept'

interface Connection {
  readonly socket: Socket
  /** Of the client of the last request, or of the socket before the first one. */
  prefixes: readonly string[]
  activity: Activity
  /** Of a large answer that the client has not read. */
  unsentBytes: number
  /** Whether its address had too many connections when it was opened. Its first request is answered with 429. */
  readonly isSurplus: boolean
  /** Of the last request. */
  client: HttpClient | undefined
  /** The responses to its requests, in the order of arrival. The first one is computed or being sent. */
  readonly unanswered: ServerResponse[]
}

interface ConnectionsOptions {
  limits: typeof CONNECTION_LIMITS
  budgets: AddressBudgets
  /** The number of reverse proxies whose `X-Forwarded-For` entry is trusted. */
  trustedProxies: number
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
  report: Report
  /** Answers a request in its turn. */
  answer: RequestListener
}

/** The client of each request. */
export interface Clients {
  of: (request: IncomingMessage) => HttpClient
}

export interface HttpClient extends Client {
  /** Runs the work round-robin with the requests of other address prefixes. Call it when the body is read. */
  takeTurn: (work: () => void) => void
}

export class Connections implements Clients {
  readonly #options: ConnectionsOptions
  readonly #turns = new WorkQueue(BEGUN_PER_ITERATION_MAX)
  /** In the order of the last change of activity. */
  readonly #open = new Map<Socket, Connection>()
  #isProxyReported = false
  /** When each reason of resets was reported. */
  readonly #reportedAt = new Map<string, number>()

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
    const isFull = this.#open.size >= limits.connections
    const replaced = isFull ? (this.#findLargest('idle') ?? this.#findLargest('running')) : undefined
    const countOfAddress = () => this.#select((each) => each.prefixes.at(-1) === prefixes.at(-1)).length
    const isSurplus = trustedProxies === 0 && countOfAddress() >= limits.addressConnections
    const state = { activity: 'idle', unsentBytes: 0, client: undefined } as const
    const connection: Connection = { socket, prefixes, isSurplus, ...state, unanswered: [] }
    this.#open.set(socket, connection)
    socket.once('close', () => this.#remove(connection))
    if (isSurplus) this.#closeUnused(connection)
    // With a verified payment on every other connection, the new one is reset.
    else if (isFull) this.#reset(replaced ?? connection, 'surplus')
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

  /** Answers the request in its turn, when all earlier answers of its connection are sent. */
  enqueue(response: ServerResponse): void {
    const { socket } = response.req
    const connection = this.#open.get(socket)
    if (!connection) return void response.destroy()
    response.on('prefinish', () => this.#handOver(connection, socket.writableLength))
    response.on('finish', () => this.#beginNext(connection))
    connection.unanswered.push(response)
    if (connection.unanswered.length === 1) this.#begin(connection, response)
  }

  /** The response to the newest unanswered request of a connection. */
  lastResponse(socket: Socket): ServerResponse | undefined {
    return this.#open.get(socket)?.unanswered.at(-1)
  }

  /** Resets a connection with a request beyond the limit. */
  resetFull(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection) this.#reset(connection, 'pipelining')
  }

  /**
   * For a stop: ends connections without a request, also those that have never sent one, and the others after their
   * answers. `isLate`: also those that wait for the rest of a request.
   */
  end({ isLate }: { isLate: boolean }): void {
    for (const [socket, { unanswered }] of this.#open) {
      if (unanswered.length === 0) socket.destroySoon()
      else if (isLate && unanswered[0]?.req.complete === false) socket.destroy()
      for (const response of unanswered) closeAfter(response)
    }
  }

  #begin(connection: Connection, response: ServerResponse): void {
    const { req: request } = response
    connection.client = this.#identify(connection, response)
    this.#change(connection, hasBody(request) ? 'idle' : 'running')
    if (connection.isSurplus) {
      closeAfter(response)
      sendResponse(response, renderOutcome(rateLimited(0)))
    } else this.#takeTurn(connection, () => this.#options.answer(request, response))
  }

  #identify(connection: Connection, response: ServerResponse): HttpClient {
    const { budgets, trustedProxies, report } = this.#options
    const { req: request } = response
    if (trustedProxies > 0) connection.prefixes = clientPrefixes(request, trustedProxies)
    else if (!this.#isProxyReported && request.headers['x-forwarded-for'] !== undefined) {
      this.#isProxyReported = true
      report(
        'proxy_not_trusted',
        'X-Forwarded-For is sent and TRUST_PROXY is 0, so all clients of the proxy share one budget',
      )
    }
    const { prefixes } = connection
    return {
      prefixes,
      budget: budgets.enter(prefixes.at(-1) ?? ''),
      hasLeft: () => response.destroyed,
      onLeave(callback) {
        response.once('close', callback)
        return () => void response.off('close', callback)
      },
      keepOpen: () => this.#change(connection, 'kept'),
      takeTurn: (work: () => void) => {
        this.#change(connection, 'running')
        this.#takeTurn(connection, work)
      },
    }
  }

  /** The answer is handed to the socket: the request is over, and its client has to read. */
  #handOver(connection: Connection, answerBytes: number): void {
    this.#change(connection, 'idle')
    connection.unsentBytes = answerBytes > SMALL_ANSWER_BYTES ? answerBytes : 0
    if (connection.unsentBytes === 0) return
    const { limits } = this.#options
    const unread = this.#select((each) => each.unsentBytes > 0)
    const ofAddress = unread.filter(({ prefixes }) => prefixes.at(-1) === connection.prefixes.at(-1))
    const sum = (several: Connection[]) => several.reduce((bytes, each) => bytes + each.unsentBytes, 0)
    const largest = () => ofLargestPrefix(unread, (each) => each.unsentBytes)
    const isBeyond = sum(ofAddress) > limits.addressUnsentBytes
    const [slowest] = isBeyond ? ofAddress : sum(unread) > limits.unsentBytes ? largest() : []
    if (slowest) this.#reset(slowest, 'unread')
  }

  #beginNext(connection: Connection): void {
    connection.unsentBytes = 0
    connection.unanswered.shift()
    const [next] = connection.unanswered
    // After an answer with `Connection: close`, the server has ended the connection.
    if (next && connection.socket.writable) this.#begin(connection, next)
  }

  /** Round-robin, so a client with many requests delays each other client by one request. */
  #takeTurn({ prefixes }: Connection, work: () => void): void {
    this.#turns.run(prefixes, () => {
      setImmediate(() => this.#turns.leave())
      work()
    })
  }

  #change(connection: Connection, activity: Activity): void {
    connection.activity = activity
    if (this.#open.delete(connection.socket)) this.#open.set(connection.socket, connection)
  }

  #select(isWanted: (connection: Connection) => boolean): Connection[] {
    return [...this.#open.values()].filter(isWanted)
  }

  /** The connection of the prefix with the most that has this activity for the longest time. */
  #findLargest(activity: Activity): Connection | undefined {
    return ofLargestPrefix(this.#select((each) => each.activity === activity))[0]
  }

  /** What the client has sent is read in the next iteration of the event loop. */
  #closeUnused(connection: Connection): void {
    const close = () => connection.unanswered.length === 0 && this.#reset(connection, 'surplus')
    setImmediate(() => setImmediate(close))
  }

  #remove(connection: Connection): void {
    if (this.#open.delete(connection.socket)) connection.unanswered.length = 0
  }

  /** A reset also frees what the kernel has not sent yet. */
  #reset(connection: Connection, reason: 'pipelining' | 'surplus' | 'unread'): void {
    const { socket } = connection
    this.#remove(connection)
    socket.on('error', () => undefined)
    socket.resetAndDestroy()
    const { clock, report } = this.#options
    if (clock() - (this.#reportedAt.get(reason) ?? -Infinity) < REPORT_INTERVAL_MS) return
    this.#reportedAt.set(reason, clock())
    report('connections_reset', reason)
  }
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}
