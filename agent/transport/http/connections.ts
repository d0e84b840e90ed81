/**
 * The connections of the HTTP server: the one place in which a connection is admitted, and closed for another one
 * (contract 8.15). Each connection runs one request at a time, because 64 KiB hold 1,600 that Node would run at once.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Report } from '../../../base/runtime.ts'
import { rateLimited } from '../../operation/outcome.ts'
import type { Refusal } from '../../operation/refusal.ts'
import type { AddressBudgets, Client } from '../../sale/limits/address-budget.ts'
import { WorkQueue } from '../../sale/limits/work-queue.ts'
import { clientPrefixes, prefixesOf } from './client-address.ts'
import { PrefixSums } from './prefix-sums.ts'
import { refuse, refuseAndClose } from './response.ts'

export const CONNECTION_LIMITS = {
  /** Open connections; about 100 MiB with the largest requests. */
  connections: 2_000,
  /** Of an IPv4 /24 or an IPv6 /64: twice the sales that one address may have in progress. */
  networkConnections: 128,
  /** Of an IPv6 /32, which is what a provider has. Its customers have networks in it. */
  providerConnections: 512,
  /** Of answers that clients have not read, without those in the kernel. A bought answer stays stored. */
  unsentBytes: 64 * 1_048_576,
  /** The largest answer has 2.3 MiB, over MCP. */
  addressUnsentBytes: 4 * 1_048_576,
  /** Pipelined requests of a connection, at most 16 KiB each. One more resets the connection. */
  unanswered: 4,
}

/** Smaller answers are not counted. Those of all connections need 32 MiB. */
const SMALL_ANSWER_BYTES = 16_384
/** Node accepts one connection in each iteration of the event loop, so few requests begin in it. */
const BEGUN_PER_ITERATION_MAX = 8
/**
 * While connections arrive, a turn lasts this number of iterations, so that eight are accepted for each request that
 * begins. The kernel keeps them in one line, and the turns are fair (`bench fairness`, `all attacks together`).
 */
const ITERATIONS_PER_TURN = 64
/** A connection that has waited for less is like one with a request: what its client sends can be on its way. */
const WAIT_MS_MIN = 300
/** The shortest interval between two log lines with the same text. */
export const REPORT_INTERVAL_MS = 60_000

interface Connection {
  readonly socket: Socket
  /** Of the client of the last request, or of the socket before the first one. */
  prefixes: readonly string[]
  /** When it connected, and when its last request arrived or was answered. */
  since: number
  /** Why it gets no answer: no other connection could be closed for it. */
  refusal?: Refusal | undefined
  /** Of the last request. */
  client?: Client
  /** Whether the payment of its running request is verified. */
  isVerified: boolean
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
  /** In the order of `since`. */
  readonly #open = new Map<Socket, Connection>()
  /**
   * Connections that may wait, in the same order. A search removes those that run, and their answer adds them again. A
   * refusal that ends its connection does not: that connection closes within a second.
   */
  readonly #maybeWaiting = new Set<Connection>()
  /** Connections of each prefix. Behind a proxy, running requests of each prefix. */
  readonly #sizes = new PrefixSums()
  /** Those with a large answer that the client has not read, and its bytes. The slowest reader is the first. */
  readonly #unread = new Map<Connection, number>()
  readonly #unreadBytes = new PrefixSums()
  /** Of this iteration of the event loop or the one before: what their clients have sent is not read yet. */
  readonly #newcomers = new Set<Connection>()
  /** When each text was reported. */
  readonly #reportedAt = new Map<string, number>()

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  /** Admits a connection, and closes another one if there are too many. */
  admit(socket: Socket): void {
    const prefixes = prefixesOf(socket.remoteAddress ?? '') ?? []
    const since = this.#options.clock()
    const connection: Connection = { socket, prefixes, since, isVerified: false, unanswered: [] }
    this.#newcomers.add(connection)
    this.#open.set(socket, connection)
    this.#maybeWaiting.add(connection)
    if (!this.#isBehindProxy) this.#sizes.add(connection, 1)
    socket.once('close', () => this.#remove(connection))
    // What the client has sent is read in the next iteration of the event loop.
    setImmediate(() => setImmediate(() => this.#endArrival(connection)))
    connection.refusal = this.#makeRoom(connection)
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

  get #isBehindProxy(): boolean {
    return this.#options.trustedProxies > 0
  }

  #begin(connection: Connection, response: ServerResponse): void {
    const { req: request } = response
    const client = (connection.client = this.#identify(connection, response))
    this.#moveToEnd(connection)
    if (connection.refusal) refuseAndClose(response, connection.refusal)
    else if (this.#isBehindProxy && this.#excess(connection) !== undefined) refuse(response, rateLimited(0).refusal)
    else client.takeTurn(() => this.#options.answer(request, response))
  }

  #identify(connection: Connection, response: ServerResponse): Client {
    const { budgets, trustedProxies } = this.#options
    const { req: request } = response
    if (this.#isBehindProxy) {
      connection.prefixes = clientPrefixes(request, trustedProxies)
      this.#sizes.add(connection, 1)
    } else if (request.headers['x-forwarded-for'] !== undefined) {
      // The log has no other characters of a text.
      this.#report('proxy_not_trusted', 'X-Forwarded-For is sent and TRUST_PROXY is 0')
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
      // The payment of a call that was answered at its deadline can be verified later.
      noteVerified: () => {
        if (!response.writableEnded) connection.isVerified = true
      },
      takeTurn: (work) =>
        this.#turns.run(prefixes, () => {
          void this.#letOthersConnect().then(() => this.#turns.leave())
          work()
        }),
      letOthersConnect: () => this.#letOthersConnect(),
    }
  }

  /** The answer is handed to the socket: the request is over, and its client has to read. */
  #handOver(connection: Connection, answerBytes: number): void {
    if (!this.#open.has(connection.socket)) return
    this.#moveToEnd(connection)
    if (answerBytes <= SMALL_ANSWER_BYTES) return
    this.#unread.set(connection, answerBytes)
    this.#unreadBytes.add(connection, answerBytes)
    const { limits } = this.#options
    const address = connection.prefixes.at(-1)
    const readers = [...this.#unread.keys()]
    if (this.#unreadBytes.of(address) > limits.addressUnsentBytes)
      this.#reset(readers.find(({ prefixes }) => prefixes.at(-1) === address) ?? connection, 'unread')
    else if (this.#unreadBytes.total > limits.unsentBytes)
      this.#reset(this.#unreadBytes.firstOfLargest(readers) ?? connection, 'unread')
  }

  /** Waits for the next iteration of the event loop, and while connections arrive for more of them. */
  async #letOthersConnect(): Promise<void> {
    for (let iteration = 1; iteration <= ITERATIONS_PER_TURN; iteration += 1) {
      await nextIteration()
      if (this.#newcomers.size === 0) break
    }
  }

  #beginNext(connection: Connection): void {
    this.#endRequest(connection)
    connection.unanswered.shift()
    const [next] = connection.unanswered
    // After an answer with `Connection: close`, the server has ended the connection.
    if (next && connection.socket.writable) this.#begin(connection, next)
    else connection.unanswered.length = 0
  }

  #endRequest(connection: Connection): void {
    connection.isVerified = false
    this.#unreadBytes.add(connection, -(this.#unread.get(connection) ?? 0))
    this.#unread.delete(connection)
    if (this.#isBehindProxy && connection.unanswered.length > 0) this.#sizes.add(connection, -1)
  }

  #moveToEnd(connection: Connection): void {
    this.#open.delete(connection.socket)
    this.#open.set(connection.socket, connection)
    this.#maybeWaiting.delete(connection)
    this.#maybeWaiting.add(connection)
    connection.since = this.#options.clock()
  }

  /** Closes others for a new connection: those of its own prefixes that have too many, and one of all. */
  #makeRoom(newcomer: Connection): Refusal | undefined {
    while (!this.#isBehindProxy) {
      const excess = this.#excess(newcomer)
      if (excess === undefined) break
      const own = this.#longestWaiting(({ prefixes }) => prefixes.includes(excess))
      if (!own) return rateLimited(0).refusal
      this.#reset(own, 'surplus')
    }
    if (this.#open.size <= this.#options.limits.connections) return undefined
    const longest = this.#longestWaiting(() => true)
    const isLong = longest && this.#options.clock() - longest.since >= WAIT_MS_MIN
    const first = isLong
      ? longest
      : (this.#sizes.firstOfLargest(this.#closable(({ unanswered }) => unanswered.length > 1)) ??
        this.#sizes.firstOfLargest(this.#closable(() => true)))
    if (!first) return { code: 'overloaded' }
    this.#reset(first, 'surplus')
    return undefined
  }

  /** Looks at each running request once, because thousands may run while attackers connect again and again. */
  #longestWaiting(isMeant: (connection: Connection) => boolean): Connection | undefined {
    for (const each of this.#maybeWaiting)
      if (isRunning(each)) this.#maybeWaiting.delete(each)
      else if (isMeant(each) && this.#isClosable(each)) return each
    return undefined
  }

  /** The oldest first. */
  *#closable(isMeant: (connection: Connection) => boolean): Generator<Connection> {
    for (const each of this.#open.values()) if (isMeant(each) && this.#isClosable(each)) yield each
  }

  #isClosable(connection: Connection): boolean {
    return !connection.isVerified && !this.#newcomers.has(connection)
  }

  /** The prefix of a connection that has too many. */
  #excess({ prefixes }: Connection): string | undefined {
    const { networkConnections, providerConnections } = this.#options.limits
    const max = (prefix: string) => (/:.*\/(32|48|56)$/.test(prefix) ? providerConnections : networkConnections)
    return prefixes.find((prefix) => this.#sizes.of(prefix) > max(prefix))
  }

  #endArrival(connection: Connection): void {
    this.#newcomers.delete(connection)
    if (connection.refusal && !connection.client && this.#open.has(connection.socket))
      this.#reset(connection, 'surplus')
  }

  #remove(connection: Connection): void {
    if (!this.#open.delete(connection.socket)) return
    this.#maybeWaiting.delete(connection)
    this.#endRequest(connection)
    if (!this.#isBehindProxy) this.#sizes.add(connection, -1)
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

/** Its request is complete and has no answer yet. */
function isRunning({ unanswered: [first], socket }: Connection): boolean {
  return first?.req.complete === true && !first.writableEnded && !socket.writableEnded
}
