/** A service that is killed and restarted on the same data directory. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  nextMessage,
  residentMemory,
  SERVICE_FLAGS,
  startServer,
  testProgram,
  type ServerProcess,
} from '../load/server-process.ts'

/** The process of a node between a start and a kill. */
export interface NodeProcess {
  server: ServerProcess
  /** Requests that the clients have sent and that are not answered. */
  inProgress: number
  /** Clients send no request while this is set, so that the scrape before a kill has all earlier requests. */
  isPaused: boolean
  /** Its last metrics were read. They lack the requests that end after this. */
  isScraped: boolean
}

export interface MemorySample {
  /** In MiB, after a garbage collection. */
  heap: number
  anonymous: number
}

/** Enough for an uncaught error. A node also writes the name of each event there. */
const STDERR_CHARACTERS_MAX = 2_000

const POLL_MS = 5
/** The kill follows the scrape after a random time of at most this. Most requests take less. */
const SCRAPED_MS_MAX = 100

interface NodeOptions {
  name: string
  environment: Record<string, string>
  /** Called with the last part of its stderr if the process exits although it was not killed. */
  onExit: (stderr: string) => void
}

export class SoakNode implements AsyncDisposable {
  readonly name: string
  /** The last metrics of each process. */
  readonly scrapes: string[] = []
  readonly #options: NodeOptions
  #running: NodeProcess | undefined

  constructor(options: NodeOptions) {
    this.name = options.name
    this.#options = options
  }

  /** Undefined while the node is down. */
  get running(): NodeProcess | undefined {
    return this.#running
  }

  get server(): ServerProcess {
    return this.#requireRunning().server
  }

  #requireRunning(): NodeProcess {
    if (!this.#running) throw new Error(`${this.name} is down`)
    return this.#running
  }

  async start(): Promise<void> {
    const { name, environment, onExit } = this.#options
    const program = testProgram('soak-service')
    const server = await startServer({ name, program, environment, stderr: 'pipe', flags: SERVICE_FLAGS })
    const started = { server, inProgress: 0, isPaused: false, isScraped: false }
    let written = ''
    server.child.stderr?.on('data', (text: Buffer) => {
      written = (written + text.toString()).slice(-STDERR_CHARACTERS_MAX)
    })
    server.child.once('exit', () => {
      if (!started.isScraped) onExit(written)
    })
    this.#running = started
  }

  /** The last scrape of the process, then SIGKILL while new requests are in progress, and a restart. */
  async restart(): Promise<void> {
    const running = this.#requireRunning()
    running.isPaused = true
    while (running.inProgress > 0) await sleep(POLL_MS)
    await this.scrape()
    running.isPaused = false
    await sleep(Math.random() * SCRAPED_MS_MAX)
    const { child } = running.server
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    this.#running = undefined
    await exited
    await this.start()
  }

  /** Reads the metrics of the process for the last time, while no request is in progress. */
  async scrape(): Promise<void> {
    const running = this.#requireRunning()
    running.server.child.send({ metrics: true })
    this.scrapes.push(await nextMessage<string>(running.server.child))
    running.isScraped = true
  }

  async sampleMemory(): Promise<MemorySample> {
    const { child } = this.server
    child.send({})
    const { heapUsed, external } = await nextMessage<NodeJS.MemoryUsage>(child)
    return { heap: (heapUsed + external) / 2 ** 20, anonymous: residentMemory(child.pid, 'RssAnon') }
  }

  /** Undefined if the node is down or has no snapshot. */
  async servedSnapshot(): Promise<string | undefined> {
    if (!this.#running) return undefined
    try {
      const response = await fetch(`${this.server.url}/api/v1/meta`)
      return ((await response.json()) as { snapshot_id: string }).snapshot_id
    } catch {
      return undefined
    }
  }

  /** Makes the daily retrieval due. */
  retrieve(): void {
    this.#running?.server.child.kill('SIGUSR2')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const server = this.#running?.server
    if (!server) return
    if (this.#running) this.#running.isScraped = true
    this.#running = undefined
    await server[Symbol.asyncDispose]()
  }
}
