/**
 * The connections of the HTTP server: the one place in which a connection is admitted. Each connection runs one request
 * at a time; pipelined requests wait. A connection that exceeds a limit is reset, and its stored answers stay.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Report } from '../../../store/base/runtime.ts'
import { rateLimited } from '../../operation/outcome.ts'
import type { AddressBudgets, Client } from '../../sale/limits/address-budget.ts'
import { PrefixTree } from '../../sale/limits/prefix-tree.ts'
import { WorkQueue } from '../../sale/limits/work-queue.ts'
import { clientPrefixes, prefixesOf } from './client-address.ts'
import { refuseAndClose } from './response.ts'

/** Node's defaults are in brackets. */
export const CONNECTION_LIMITS = {
  /** Open connections; about 100 MiB with the largest requests. A further one resets another one [none]. */
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
/** Smaller answers are not counted. Those of all connections need 32 MiB. */
const SMALL_ANSWER_BYTES = 16_384
/** Node accepts one connection in each iteration of the event loop, so few requests begin in it. */
const BEGUN_PER_ITERATION_MAX = 8
/**
 * While connections arrive, a turn lasts this number of iterations, so that they are accepted meanwhile. Requests must
 * begin faster than connections arrive. Otherwise each connection is reset before its request begins.
 */
const ITERATIONS_PER_TURN = 8
/** The shortest interval between two log lines with the same text. */
export const REPORT_INTERVAL_MS = 60_000

/** In the order of resets. `running`: new, or has a request. `sale`: the payment of the request is new in the log. */
const ACTIVITIES = ['idle', 'running', 'sale'] as const
type Activity = (typeof ACTIVITIES)[number]

interface Connection {
  readonly socket: Socket
  /** Of the client of the last request, or of the socket before the first one. */
  prefixes: readonly string[]
  activity: Activity
  /** The value of `#changes` at its last change of activity. */
  changed: number
  /** Of the last request. */
  client?: Client
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

export class Connections {
  readonly #options: ConnectionsOptions
  readonly #turns = new WorkQueue(BEGUN_PER_ITERATION_MAX)
  readonly #open = new Map<Socket, Connection>()
  /** The same connections by prefix. */
  readonly #tree = new PrefixTree<Connection>()
  /** Those with a large answer that the client has not read, and its bytes. */
  readonly #unread = new PrefixTree<Connection>()
  /** Connections that were admitted in this iteration of the event loop or the one before. */
  #newcomers = 0
  /** Counts the changes of activity of all connections. */
  #changes = 0
  /** When each text was reported. */
  readonly #reportedAt = new Map<string, number>()

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  /** Admits a connection, and resets one if there are too many of its address or of all. */
  admit(socket: Socket): void {
    const prefixes = prefixesOf(socket.remoteAddress ?? '') ?? []
    const changed = (this.#changes += 1)
    const connection: Connection = { socket, prefixes, activity: 'running', changed, unanswered: [] }
    this.#newcomers += 1
    this.#open.set(socket, connection)
    this.#tree.add(connection)
    socket.once('close', () => this.#remove(connection))
    // What the client has sent is read in the next iteration of the event loop.
    setImmediate(() => setImmediate(() => this.#endArrival(connection)))
    this.#makeRoom(connection)
    if (this.#open.size > this.#options.limits.connections)
      this.#reset(firstToReset(this.#tree.largest(FEW_CONNECTIONS)), 'surplus')
  }

  /** The client of a running request. */
  of({ socket }: IncomingMessage): Client {
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
      for (const response of unanswered) if (!response.headersSent) response.setHeader('Connection', 'close')
    }
  }

  #begin(connection: Connection, response: ServerResponse): void {
    const { req: request } = response
    const isFirst = connection.client === undefined
    const client = (connection.client = this.#identify(connection, response))
    this.#change(connection, 'running')
    if (isFirst && !this.#makeRoom(connection)) refuseAndClose(response, rateLimited(0).refusal)
    else client.takeTurn(() => this.#options.answer(request, response))
  }

  #identify(connection: Connection, response: ServerResponse): Client {
    const { budgets, trustedProxies } = this.#options
    const { req: request } = response
    if (trustedProxies > 0) {
      this.#tree.remove(connection)
      connection.prefixes = clientPrefixes(request, trustedProxies)
      this.#tree.add(connection)
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
      // The payment of a call that was answered at its deadline can be stored later.
      noteSale: () => {
        if (!response.writableEnded) this.#change(connection, 'sale')
      },
      takeTurn: (work) =>
        this.#turns.run(prefixes, () => {
          void this.#endTurn()
          work()
        }),
    }
  }

  /** The answer is handed to the socket: the request is over, and its client has to read. */
  #handOver(connection: Connection, answerBytes: number): void {
    this.#change(connection, 'idle')
    if (answerBytes <= SMALL_ANSWER_BYTES) return
    this.#unread.add(connection, answerBytes)
    const { limits } = this.#options
    const ofAddress = this.#unread.ofClient(connection)
    const isBeyond = ofAddress.size > limits.addressUnsentBytes
    const [slowest] = isBeyond ? ofAddress : this.#unread.size > limits.unsentBytes ? this.#unread.largest() : []
    if (slowest) this.#reset(slowest, 'unread')
  }

  /** Ends a turn in the next iteration of the event loop, or later while connections arrive. */
  async #endTurn(): Promise<void> {
    for (let iteration = 1; iteration <= ITERATIONS_PER_TURN; iteration += 1) {
      await nextIteration()
      if (this.#newcomers === 0) break
    }
    this.#turns.leave()
  }

  #beginNext(connection: Connection): void {
    this.#unread.remove(connection)
    connection.unanswered.shift()
    const [next] = connection.unanswered
    // After an answer with `Connection: close`, the server has ended the connection.
    if (next && connection.socket.writable) this.#begin(connection, next)
  }

  #change(connection: Connection, activity: Activity): void {
    connection.changed = this.#changes += 1
    connection.activity = activity
  }

  /** If its address has too many connections, resets the one that is idle longest. Returns whether there was one. */
  #makeRoom(connection: Connection): boolean {
    const { limits, trustedProxies } = this.#options
    const own = this.#tree.ofClient(connection)
    if (trustedProxies > 0 || own.size <= limits.addressConnections) return true
    const first = firstToReset(own)
    if (first.activity !== 'idle') return false
    this.#reset(first, 'surplus')
    return true
  }

  #endArrival(connection: Connection): void {
    this.#newcomers -= 1
    if (connection.client || !this.#open.has(connection.socket)) return
    this.#change(connection, 'idle')
    this.#makeRoom(connection)
  }

  #remove(connection: Connection): void {
    if (!this.#open.delete(connection.socket)) return
    for (const tree of [this.#tree, this.#unread]) tree.remove(connection)
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

/** Of at least one connection. */
function firstToReset(connections: Iterable<Connection>): Connection {
  const order = (one: Connection, other: Connection) =>
    ACTIVITIES.indexOf(one.activity) - ACTIVITIES.indexOf(other.activity) || one.changed - other.changed
  return [...connections].reduce((first, each) => (order(each, first) < 0 ? each : first))
}
