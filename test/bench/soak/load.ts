/**
 * The clients of a soak. Each sends one request after the other, to any node that is up. A sale is repeated with the
 * same payment until it is answered. Every other request must get its expected status, also while the database is down.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, toBytes, type LoadResponse } from '../load/client.ts'
import { RequestCounts } from '../load/request-counts.ts'
import type { SoakDatabase } from './disturb.ts'
import type { NodeProcess, SoakNode } from './node.ts'
import type { SoakRequest } from './requests.ts'
import type { Sales } from './sales.ts'
import type { SnapshotCheck } from './snapshot-check.ts'

/** With more clients, one node could get more calls over A2A or MCP than it runs at once, and would answer 503. */
const CLIENTS = 8
/** Below the time after which a service closes an idle connection. */
const IDLE_MS_MAX = 1_000
/** Short beside the seconds that a restart takes. */
const DOWN_POLL_MS = 20
const REPEAT_EVERY_MS = 100
/** Longer than a restart takes, and shorter than a payment is valid. */
const ANSWER_MS_MAX = 60_000
/** Of a wrong answer that is printed. */
const BODY_CHARACTERS_MAX = 200

interface LoadOptions {
  nodes: readonly SoakNode[]
  database: SoakDatabase | undefined
  requests: readonly (() => SoakRequest)[]
  sales: Sales
  snapshots: SnapshotCheck
  onFault: (fault: string) => void
}

/** `lost`: the connection ended before the answer. */
type Outcome = { kind: 'answered'; response: LoadResponse } | { kind: 'lost' }

export class Load {
  readonly counts = new RequestCounts()
  /** All requests, with the repeated ones. */
  sent = 0
  /** Requests that repeated a sale. */
  repeats = 0
  readonly #options: LoadOptions
  #isStopped = false
  #clients: Promise<unknown> = Promise.resolve()

  constructor(options: LoadOptions) {
    this.#options = options
  }

  start(): void {
    this.#clients = Promise.all(Array.from({ length: CLIENTS }, (_, index) => this.#run(index)))
  }

  /** Resolves when every sale has an answer. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#clients
  }

  async #run(index: number): Promise<void> {
    const { requests } = this.#options
    using client = new Client(this.#options.nodes)
    for (let next = index; !this.#isStopped; next += 1) {
      const request = requests[next % requests.length]?.()
      if (request) await this.#exchange(client, request)
    }
  }

  async #exchange(client: Client, request: SoakRequest): Promise<void> {
    const begun = performance.now()
    let outcome = await this.#send(client, request)
    this.#check(request, outcome, this.#wasDown(begun))
    while (request.kind === 'sale' && !isSold(request, outcome) && performance.now() - begun < ANSWER_MS_MAX) {
      await sleep(REPEAT_EVERY_MS)
      this.repeats += 1
      outcome = await this.#send(client, request)
      this.#check(request, outcome, true)
    }
    if (request.kind === 'other') return
    if (outcome.kind === 'lost' || !isSold(request, outcome)) {
      this.#options.onFault(`${request.path} was not answered in ${ANSWER_MS_MAX} ms`)
      return
    }
    this.#options.sales.add(request, outcome.response)
    this.#options.snapshots.add(request, outcome.response)
  }

  /** A sale may get a temporary refusal while the database is down and when it is repeated. */
  #check(request: SoakRequest, outcome: Outcome, mayBeRefused: boolean): void {
    if (outcome.kind === 'lost' || isExpected(request, outcome.response)) return
    const { status, body } = outcome.response
    if (request.kind === 'sale' && mayBeRefused && isTemporary(outcome.response)) return
    this.#options.onFault(
      `${request.path} got ${status} instead of ${request.status}: ${body.slice(0, BODY_CHARACTERS_MAX)}`,
    )
  }

  async #send(client: Client, request: SoakRequest): Promise<Outcome> {
    const { running, connection } = await client.connect()
    this.sent += 1
    running.inProgress += 1
    try {
      const response = await connection.send(toBytes(request))
      if (running.isScraped) this.counts.addUnknown(request)
      else this.counts.add(request, response.status)
      return { kind: 'answered', response }
    } catch {
      if (!running.isScraped) this.#options.onFault(`${request.path} lost its connection without a kill`)
      this.counts.addUnknown(request)
      return { kind: 'lost' }
    } finally {
      running.inProgress -= 1
    }
  }

  #wasDown(begun: number): boolean {
    return this.#options.database?.wasDown(begun, performance.now()) ?? false
  }
}

/** One connection of a client to each node. */
class Client implements Disposable {
  readonly #nodes: readonly SoakNode[]
  readonly #open = new Map<SoakNode, { running: NodeProcess; connection: Connection; usedAt: number }>()

  constructor(nodes: readonly SoakNode[]) {
    this.#nodes = nodes
  }

  /** To any node that is up. Waits while none is. */
  async connect(): Promise<{ running: NodeProcess; connection: Connection }> {
    for (;;) {
      const up = this.#nodes.filter(({ running }) => running && !running.isPaused)
      const node = up[Math.floor(Math.random() * up.length)]
      const open = node?.running && (await this.#connectTo(node, node.running))
      if (open) return open
      await sleep(DOWN_POLL_MS)
    }
  }

  async #connectTo(node: SoakNode, running: NodeProcess) {
    const kept = this.#open.get(node)
    const isUsable =
      kept?.running === running && kept.connection.isOpen && performance.now() - kept.usedAt < IDLE_MS_MAX
    if (isUsable) {
      kept.usedAt = performance.now()
      return kept
    }
    kept?.connection[Symbol.dispose]()
    // A node that was just killed refuses the connection.
    const connection = await Connection.open(running.server.url).catch(() => undefined)
    if (!connection) return undefined
    if (running.isPaused) {
      connection[Symbol.dispose]()
      return undefined
    }
    const opened = { running, connection, usedAt: performance.now() }
    this.#open.set(node, opened)
    return opened
  }

  [Symbol.dispose](): void {
    for (const { connection } of this.#open.values()) connection[Symbol.dispose]()
  }
}

function isExpected({ status, contains = '' }: SoakRequest, response: LoadResponse): boolean {
  return response.status === status && response.body.includes(contains)
}

function isSold(request: SoakRequest, outcome: Outcome): boolean {
  return outcome.kind === 'answered' && isExpected(request, outcome.response)
}

/** Over MCP every refusal has status 200. A temporary one has `retry_after_seconds`. */
function isTemporary({ status, body }: LoadResponse): boolean {
  return status === 503 || (status === 200 && body.includes('"isError":true') && body.includes('retry_after_seconds'))
}
