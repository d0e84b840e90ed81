/**
 * The connections of the HTTP server: the one place in which a connection is admitted. Each connection runs one request
 * at a time; pipelined requests wait. A connection that exceeds a limit is reset, and its stored answers stay.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Report } from '../../../store/base/runtime.ts'
import { rateLimited } from '../../operation/outcome.ts'
import type { AddressBudgets, Client } from '../../sale/limits/address-budget.ts'
import { PrefixTree } from '../../sale/limits/prefix-tree.ts'
import { clientPrefixes, prefixesOf } from './client-address.ts'
import { renderOutcome, sendResponse } from './response.ts'

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

/** A prefix with so few connections loses none while another prefix has more. */
const FEW_CONNECTIONS = 4
/** Takes about as long as the work of a turn. */
const ACCEPTED_BETWEEN_TURNS_MAX = 8
/** Each text is in the log at most this often. */
export const REPORT_INTERVAL_MS = 60_000

/** `running`: new, or has a request. `kept`: the payment of the request is verified or recorded. */
type Activity = 'idle' | 'running' | 'kept'

interface Connection {
  readonly socket: Socket
  /** Of the socket. */
  readonly address: string
  /** Of the client of the last request, or of the socket before the first one. */
  prefixes: readonly string[]
  activity: Activity
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
export type Clients = Pick<Connections, 'of'>

export interface HttpClient extends Client {
  /**
   * Runs the work round-robin, so a client with many requests delays each other client by one request. Call it again
   * when the body is read.
   */
  takeTurn: (work: () => void) => void
}

export class Connections {
  readonly #options: ConnectionsOptions
  /** Work that waits for its turn. */
  readonly #turns = new PrefixTree<{ prefixes: readonly string[]; begin: () => void }>()
  /** In the order of the last change of activity. */
  readonly #open = new Map<Socket, Connection>()
  /** The numbers of open connections, by address. */
  readonly #addresses = new Map<string, number>()
  /** All but those that are `kept`. */
  readonly #replaceable = new PrefixTree<Connection>()
  /** In this iteration of the event loop. */
  #hasAdmitted = false
  /** When each text was reported. */
  readonly #reportedAt = new Map<string, number>()

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  /**
   * Admits a connection, and resets one if there are too many. One too many of its address is closed, with 429 if it
   * has sent a request.
   */
  admit(socket: Socket): void {
    const { limits, trustedProxies } = this.#options
    const prefixes = prefixesOf(socket.remoteAddress ?? '') ?? []
    const address = prefixes.at(-1) ?? ''
    const ofAddress = this.#addresses.get(address) ?? 0
    const isSurplus = trustedProxies === 0 && ofAddress >= limits.addressConnections
    const state = { activity: 'running', client: undefined } as const
    const connection: Connection = { socket, address, prefixes, isSurplus, ...state, unanswered: [] }
    this.#open.set(socket, connection)
    this.#addresses.set(address, ofAddress + 1)
    this.#replaceable.add(connection)
    this.#hasAdmitted = true
    socket.once('close', () => this.#remove(connection))
    // What the client has sent is read in the next iteration of the event loop.
    setImmediate(() => setImmediate(() => this.#checkUse(connection)))
    if (!isSurplus && this.#open.size > limits.connections) this.#resetSurplus()
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
    response.on('prefinish', () => this.#handOver(connection))
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

  /** For a stop: ends connections without a request, also those that have never sent one, and others when answered. */
  end(): void {
    for (const [socket, { unanswered }] of this.#open) {
      if (unanswered.length === 0) socket.destroySoon()
      for (const response of unanswered) response.shouldKeepAlive = false
    }
  }

  #begin(connection: Connection, response: ServerResponse): void {
    const { req: request } = response
    connection.client = this.#identify(connection, response)
    this.#change(connection, 'running')
    if (connection.isSurplus) {
      response.shouldKeepAlive = false
      sendResponse(response, renderOutcome(rateLimited(0)))
    } else connection.client.takeTurn(() => this.#options.answer(request, response))
  }

  #identify(connection: Connection, response: ServerResponse): HttpClient {
    const { budgets, trustedProxies } = this.#options
    const { req: request } = response
    if (trustedProxies > 0) {
      this.#replaceable.remove(connection)
      connection.prefixes = clientPrefixes(request, trustedProxies)
      this.#replaceable.add(connection)
    } else if (request.headers['x-forwarded-for'] !== undefined) {
      this.#report(
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
      // A call that was answered at its deadline can still be verified later.
      keepOpen: () => {
        if (!response.writableEnded) this.#change(connection, 'kept')
      },
      takeTurn: (begin) => {
        this.#turns.add({ prefixes, begin })
        if (this.#turns.size === 1) setImmediate(() => this.#beginTurn())
      },
    }
  }

  /** The answer is handed to the socket: the request is over, and its client has to read. */
  #handOver(connection: Connection): void {
    this.#change(connection, 'idle')
    if (connection.socket.writableLength === 0) return
    const { limits } = this.#options
    // In the order in which the answers were handed over: a connection then has no other activity.
    const unread = new PrefixTree<Connection>(({ socket }) => socket.writableLength)
    for (const each of this.#open.values()) if (each.socket.writableLength > 0) unread.add(each)
    const ofAddress = unread.ofClient(connection)
    const isBeyond = ofAddress.size > limits.addressUnsentBytes
    const [slowest] = isBeyond ? ofAddress : unread.size > limits.unsentBytes ? unread.largest() : []
    if (slowest) this.#reset(slowest, 'unread')
  }

  /**
   * Begins one request in an iteration of the event loop, and none in the few iterations before, while connections wait
   * to be accepted: Node accepts one in each iteration, and they have no order yet.
   */
  #beginTurn(waited = 0): void {
    if (this.#hasAdmitted && waited < ACCEPTED_BETWEEN_TURNS_MAX) {
      this.#hasAdmitted = false
      return void setImmediate(() => this.#beginTurn(waited + 1))
    }
    const next = this.#turns.takeNext()
    if (this.#turns.size > 0) setImmediate(() => this.#beginTurn())
    next?.begin()
  }

  #beginNext(connection: Connection): void {
    connection.unanswered.shift()
    const [next] = connection.unanswered
    // After an answer with `Connection: close`, the server has ended the connection.
    if (next && connection.socket.writable) this.#begin(connection, next)
  }

  #change(connection: Connection, activity: Activity): void {
    const { socket } = connection
    if (!this.#open.delete(socket)) return
    this.#open.set(socket, connection)
    if (connection.activity === 'kept') this.#replaceable.add(connection)
    if (activity === 'kept') this.#replaceable.remove(connection)
    connection.activity = activity
  }

  /** Resets one of the largest prefix: the one that is idle longest, or else the oldest request. */
  #resetSurplus(): void {
    const largest = new Set(this.#replaceable.largest(FEW_CONNECTIONS))
    const inOrder = [...this.#open.values()].filter((each) => largest.has(each))
    const surplus = inOrder.find(({ activity }) => activity === 'idle') ?? inOrder[0]
    if (surplus) this.#reset(surplus, 'surplus')
  }

  #checkUse(connection: Connection): void {
    if (connection.client) return
    if (connection.isSurplus) this.#reset(connection, 'surplus')
    else this.#change(connection, 'idle')
  }

  #remove(connection: Connection): void {
    const { socket, address } = connection
    if (!this.#open.delete(socket)) return
    const ofAddress = this.#addresses.get(address) ?? 0
    if (ofAddress > 1) this.#addresses.set(address, ofAddress - 1)
    else this.#addresses.delete(address)
    if (connection.activity !== 'kept') this.#replaceable.remove(connection)
    connection.unanswered.length = 0
  }

  /** A reset also frees what the kernel has not sent yet. */
  #reset(connection: Connection, reason: 'pipelining' | 'surplus' | 'unread'): void {
    const { socket } = connection
    this.#remove(connection)
    socket.on('error', () => undefined)
    socket.resetAndDestroy()
    this.#report('connections_reset', reason)
  }

  #report(event: string, text: string): void {
    const { clock, report } = this.#options
    if (clock() - (this.#reportedAt.get(text) ?? -Infinity) < REPORT_INTERVAL_MS) return
    this.#reportedAt.set(text, clock())
    report(event, text)
  }
}
