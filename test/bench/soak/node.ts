/** A service that is killed and restarted on the same data directory. Each of its processes is a life. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { nextMessage, residentMemory, startServer, testProgram, type ServerProcess } from '../load/server-process.ts'

/** One process of a node. */
export interface Life {
  server: ServerProcess
  /** Requests that the clients have sent and that are not answered. */
  inProgress: number
  /** Clients send it nothing, so that the scrape before a kill has all requests. */
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
/** The time from the scrape to the kill is drawn up to this limit. It is longer than most requests. */
const SCRAPED_MS_MAX = 100

interface NodeOptions {
  name: string
  environment: Record<string, string>
  /** Called when the process exits without a kill, with the end of what it wrote to stderr. */
  onExit: (stderr: string) => void
}

export class SoakNode implements AsyncDisposable {
  readonly name: string
  readonly dataDirectory: string
  /** The last metrics of each life. */
  readonly scrapes: string[] = []
  readonly #options: NodeOptions
  #life: Life | undefined

  constructor(options: NodeOptions) {
    this.name = options.name
    this.dataDirectory = options.environment['DATA_DIR'] ?? ''
    this.#options = options
  }

  /** Undefined while the node is down. */
  get life(): Life | undefined {
    return this.#life
  }

  get server(): ServerProcess {
    return this.#runningLife().server
  }

  #runningLife(): Life {
    if (!this.#life) throw new Error(`${this.name} is down`)
    return this.#life
  }

  async start(): Promise<void> {
    const { name, environment, onExit } = this.#options
    const program = testProgram('stubbed-service')
    const server = await startServer({ name, program, environment, stderr: 'pipe' })
    const life = { server, inProgress: 0, isPaused: false, isScraped: false }
    let written = ''
    server.child.stderr?.on('data', (text: Buffer) => {
      written = (written + text.toString()).slice(-STDERR_CHARACTERS_MAX)
    })
    server.child.once('exit', () => {
      if (!life.isScraped) onExit(written)
    })
    this.#life = life
  }

  /** The last scrape of this life, then SIGKILL while new requests are in progress, and a restart. */
  async restart(): Promise<void> {
    const life = this.#runningLife()
    life.isPaused = true
    while (life.inProgress > 0) await sleep(POLL_MS)
    await this.scrape()
    life.isPaused = false
    await sleep(Math.random() * SCRAPED_MS_MAX)
    const { child } = life.server
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    this.#life = undefined
    await exited
    await this.start()
  }

  /** Reads the metrics for the last time in this life, while no request is in progress. */
  async scrape(): Promise<void> {
    const life = this.#runningLife()
    life.server.child.send({ metrics: true })
    this.scrapes.push(await nextMessage<string>(life.server.child))
    life.isScraped = true
  }

  async sampleMemory(): Promise<MemorySample> {
    const { child } = this.server
    child.send({})
    const { heapUsed, external } = await nextMessage<NodeJS.MemoryUsage>(child)
    return { heap: (heapUsed + external) / 2 ** 20, anonymous: residentMemory(child.pid, 'RssAnon') }
  }

  /** Makes the daily retrieval due. */
  retrieve(): void {
    this.#life?.server.child.kill('SIGUSR2')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const server = this.#life?.server
    if (!server) return
    if (this.#life) this.#life.isScraped = true
    this.#life = undefined
    await server[Symbol.asyncDispose]()
  }
}
