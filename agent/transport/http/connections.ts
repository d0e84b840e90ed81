/**
 * The open connections of the HTTP server. Each connection runs one request at a time; pipelined requests wait. A
 * connection that exceeds a limit is reset. When too many are open, one of the address with the most connections is
 * reset.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Report, Timer } from '../../../store/base/runtime.ts'
import { normalizeAddress } from './client-address.ts'

interface ConnectionLimits {
  /** Open connections. */
  connections: number
  /** Requests of one connection whose answers are not sent yet. */
  unanswered: number
  /** Requests of all connections that wait for an earlier one of their connection. */
  waiting: number
}

/** Resets are counted in the log at most this often. */
export const REPORT_INTERVAL_MS = 60_000

/** `pipelining`: too many unanswered requests. `surplus`: too many open connections. */
type ResetReason = 'pipelining' | 'surplus'

interface PipelinedRequest {
  response: ServerResponse
  run: () => void
}

interface Connection {
  /** The network address of the socket. */
  readonly address: string
  /** Whether the payment of the running request is verified or recorded. */
  isKept: boolean
  /** In the order of arrival. The first one is running or being sent. */
  readonly unanswered: PipelinedRequest[]
}

interface ConnectionsOptions {
  limits: ConnectionLimits
  timer: Timer
  report: Report
}

export class Connections {
  readonly #limits: ConnectionLimits
  readonly #timer: Timer
  readonly #report: Report
  /** Ordered by the end of the last request, or the start of the connection if it had none. */
  readonly #open = new Map<Socket, Connection>()
  #waiting = 0
  #isStopping = false
  /** Resets that are not in the log yet. */
  #resets: Record<ResetReason, number> = { pipelining: 0, surplus: 0 }
  /** Set for the interval after a line in the log. */
  #nextReport: (() => void) | undefined

  constructor({ limits, timer, report }: ConnectionsOptions) {
    this.#limits = limits
    this.#timer = timer
    this.#report = report
  }

  add(socket: Socket): void {
    const address = normalizeAddress(socket.remoteAddress ?? '') ?? ''
    this.#open.set(socket, { address, isKept: false, unanswered: [] })
    socket.once('close', () => this.#remove(socket))
    if (this.#open.size > this.#limits.connections) this.#resetSurplus()
  }

  /** Keeps the connection when a new connection exceeds the limit, until the answer to its running request is sent. */
  keepOpen(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (connection) connection.isKept = true
  }

  /** Whether the next request of the connection exceeds a limit. */
  isFull(socket: Socket): boolean {
    const unanswered = this.#open.get(socket)?.unanswered.length ?? 0
    return unanswered >= this.#limits.unanswered || (unanswered > 0 && this.#waiting >= this.#limits.waiting)
  }

  /** Runs the request when all earlier answers of its connection are sent. */
  enqueue(socket: Socket, request: PipelinedRequest): void {
    const connection = this.#open.get(socket)
    if (!connection) return void request.response.destroy()
    if (this.#isStopping) closeAfter(request.response)
    request.response.once('finish', () => this.#runNext(socket, connection))
    connection.unanswered.push(request)
    if (connection.unanswered.length === 1) request.run()
    else this.#waiting += 1
  }

  /** The response to the newest unanswered request of a connection. */
  lastResponse(socket: Socket): ServerResponse | undefined {
    return this.#open.get(socket)?.unanswered.at(-1)?.response
  }

  /** Resets a connection that exceeds a limit of pipelined requests. */
  resetPipelining(socket: Socket): void {
    this.#reset(socket, 'pipelining')
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

  /** Writes the resets that are not in the log yet, and at the end of the interval those that follow. */
  reportResets(): void {
    this.#nextReport?.()
    this.#nextReport = undefined
    const { pipelining, surplus } = this.#resets
    if (pipelining + surplus === 0) return
    this.#resets = { pipelining: 0, surplus: 0 }
    this.#nextReport = this.#timer(() => this.reportResets(), REPORT_INTERVAL_MS)
    this.#report('connections_reset', `${pipelining} pipelining ${surplus} surplus`)
  }

  #runNext(socket: Socket, connection: Connection): void {
    connection.unanswered.shift()
    connection.isKept = false
    // Moves the connection to the end of the order.
    if (this.#open.delete(socket)) this.#open.set(socket, connection)
    const [next] = connection.unanswered
    if (!next) return
    this.#waiting -= 1
    // After an answer with `Connection: close`, the server has ended the connection.
    if (socket.writable) next.run()
  }

  /**
   * Of the address with the most connections that are not kept, resets the one that has been idle longest, else the
   * oldest.
   */
  #resetSurplus(): void {
    const candidates = new Map<string, Socket[]>()
    for (const [socket, { address, isKept }] of this.#open) {
      if (isKept) continue
      const ofAddress = candidates.get(address)
      if (ofAddress) ofAddress.push(socket)
      else candidates.set(address, [socket])
    }
    let most: Socket[] = []
    for (const sockets of candidates.values()) if (sockets.length > most.length) most = sockets
    const isIdle = (socket: Socket) => isWaitingForClient(this.#open.get(socket)?.unanswered[0]?.response)
    const victim = most.find(isIdle) ?? most[0]
    if (victim) this.#reset(victim, 'surplus')
  }

  #remove(socket: Socket): void {
    const { unanswered = [] } = this.#open.get(socket) ?? {}
    this.#open.delete(socket)
    this.#waiting -= Math.max(0, unanswered.length - 1)
    unanswered.length = 0
  }

  /** A reset also frees what the kernel has not sent yet. */
  #reset(socket: Socket, reason: ResetReason): void {
    this.#remove(socket)
    socket.on('error', () => undefined)
    socket.resetAndDestroy()
    this.#resets[reason] += 1
    if (!this.#nextReport) this.reportResets()
  }
}

/** Whether a connection has no request, or is receiving a request or sending an answer. */
function isWaitingForClient(running: ServerResponse | undefined): boolean {
  return !running?.req.complete || running.writableEnded
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}
