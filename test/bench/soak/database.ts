/** The PostgreSQL server of a soak, which is killed, and the times in which it did not answer. */
import type { PostgresServer } from '../../support/postgres.ts'
import { startDatabase } from '../log-kind.ts'

/** In milliseconds of `performance.now`. */
interface Outage {
  from: number
  until: number
}

export class SoakDatabase implements AsyncDisposable {
  readonly url: string
  readonly #server: PostgresServer
  readonly #outages: Outage[] = []

  private constructor({ url, server }: { url: string; server: PostgresServer }) {
    this.url = url
    this.#server = server
  }

  static async start(): Promise<SoakDatabase> {
    return new SoakDatabase(await startDatabase())
  }

  /** SIGKILL and a restart. Ends when the server answers. */
  async restart(): Promise<void> {
    const outage = { from: performance.now(), until: Number.POSITIVE_INFINITY }
    this.#outages.push(outage)
    await this.#server.kill()
    await this.#server.start()
    outage.until = performance.now()
  }

  /** Whether the server was down at some time in between. */
  wasDown(from: number, until: number): boolean {
    return this.#outages.some((outage) => outage.from <= until && from <= outage.until)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop()
  }
}
