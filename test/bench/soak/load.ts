/**
 * The clients of a soak. Each sends one request after the other, to any node that is up. A sale is repeated with the same
 * payment until it is answered. Everything else must get its status at once, also while the database is down.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, toBytes, type LoadResponse } from '../load/client.ts'
import { RequestCounts } from '../load/request-counts.ts'
import type { SoakDatabase } from './database.ts'
import type { Life, SoakNode } from './node.ts'
import type { SoakRequest } from './requests.ts'
import type { Sales } from './sales.ts'
import type { SnapshotCheck } from './snapshot-check.ts'

/** Fewer than the A2A calls that a service takes at once; more would get 503. */
const CLIENTS = 8
/** Below the time after which a service closes an idle connection. */
const IDLE_MS_MAX = 1_000
/** A killed node restarts in some seconds. */
const DOWN_POLL_MS = 20
const REPEAT_EVERY_MS = 100
/** Longer than any kill. A payment is valid for 350 s. */
const ANSWER_MS_MAX = 60_000
const BODY_SHOWN = 200

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
  /** All requests that were sent, and those of them that repeated a sale. */
  sent = 0
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

  /** Ends when the last sale is answered. */
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
    this.#judge(request, outcome, this.#wasDown(begun))
    while (request.kind === 'sale' && !isSold(request, outcome) && performance.now() - begun < ANSWER_MS_MAX) {
      await sleep(REPEAT_EVERY_MS)
      this.repeats += 1
      outcome = await this.#send(client, request)
      this.#judge(request, outcome, true)
    }
    if (request.kind === 'other') return
    if (outcome.kind === 'lost' || !isSold(request, outcome)) {
      this.#options.onFault(`${request.path} was not answered in ${ANSWER_MS_MAX} ms`)
      return
    }
    this.#options.sales.add(request, outcome.response)
    this.#options.snapshots.add(request, outcome.response)
  }

  /** A sale may be refused for the moment while the database is down, and when it is repeated. */
  #judge(request: SoakRequest, outcome: Outcome, mayBeRefused: boolean): void {
    if (outcome.kind === 'lost' || isExpected(request, outcome.response)) return
    const { status, body } = outcome.response
    if (request.kind === 'sale' && mayBeRefused && isTemporary(outcome.response)) return
    this.#options.onFault(`${request.path} got ${status} instead of ${request.status}: ${body.slice(0, BODY_SHOWN)}`)
  }

  async #send(client: Client, request: SoakRequest): Promise<Outcome> {
    const { life, connection } = await client.connect()
    this.sent += 1
    life.inProgress += 1
    try {
      const response = await connection.send(toBytes(request))
      if (life.isScraped) this.counts.addUnknown(request)
      else this.counts.add(request, response.status)
      return { kind: 'answered', response }
    } catch {
      if (!life.isScraped) this.#options.onFault(`${request.path} lost its connection without a kill`)
      this.counts.addUnknown(request)
      return { kind: 'lost' }
    } finally {
      life.inProgress -= 1
    }
  }

  #wasDown(begun: number): boolean {
    return this.#options.database?.wasDown(begun, performance.now()) ?? false
  }
}

/** One connection of a client to each node. */
class Client implements Disposable {
  readonly #nodes: readonly SoakNode[]
  readonly #open = new Map<SoakNode, { life: Life; connection: Connection; usedAt: number }>()

  constructor(nodes: readonly SoakNode[]) {
    this.#nodes = nodes
  }

  /** To any node that is up. Waits while none is. */
  async connect(): Promise<{ life: Life; connection: Connection }> {
    for (;;) {
      const up = this.#nodes.filter(({ life }) => life && !life.isPaused)
      const node = up[Math.floor(Math.random() * up.length)]
      const open = node?.life && (await this.#connectTo(node, node.life))
      if (open) return open
      await sleep(DOWN_POLL_MS)
    }
  }

  async #connectTo(node: SoakNode, life: Life) {
    const kept = this.#open.get(node)
    const isUsable = kept?.life === life && kept.connection.isOpen && performance.now() - kept.usedAt < IDLE_MS_MAX
    if (isUsable) {
      kept.usedAt = performance.now()
      return kept
    }
    kept?.connection[Symbol.dispose]()
    // A node that was just killed refuses the connection.
    const connection = await Connection.open(life.server.url).catch(() => undefined)
    if (!connection) return undefined
    if (life.isPaused) {
      connection[Symbol.dispose]()
      return undefined
    }
    const opened = { life, connection, usedAt: performance.now() }
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

/** Over MCP every refusal has status 200, and those to repeat name a time. */
function isTemporary({ status, body }: LoadResponse): boolean {
  return status === 503 || (status === 200 && body.includes('"isError":true') && body.includes('retry_after_seconds'))
}
