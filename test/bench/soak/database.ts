/** The PostgreSQL server of a soak, which is killed, and the times in which it did not answer. */
import { startDatabase } from '../log-kind.ts'

export type SoakDatabase = Awaited<ReturnType<typeof startSoakDatabase>>

export async function startSoakDatabase() {
  const { url, server } = await startDatabase()
  /** In milliseconds of `performance.now`. */
  const outages: { from: number; until: number }[] = []
  return {
    url,
    /** SIGKILL and a restart. Ends when the server answers. */
    async restart(): Promise<void> {
      const outage = { from: performance.now(), until: Number.POSITIVE_INFINITY }
      outages.push(outage)
      await server.kill()
      await server.start()
      outage.until = performance.now()
    },
    /** Whether the server was down at some time in between. */
    wasDown: (from: number, until: number) => outages.some((outage) => outage.from <= until && from <= outage.until),
    [Symbol.asyncDispose]: () => server.stop(),
  }
}
