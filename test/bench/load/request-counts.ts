/** Compares the requests that a load generator has counted with those that the metrics of the service have. */

/** The service counts other methods as one. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST'])

/** Counts by path, method and status. */
export class RequestCounts {
  readonly #counts = new Map<string, number>()

  add({ path, method = 'GET' }: { path: string; method?: string }, status: number): void {
    const key = `${routeOf(path)} ${METHODS.has(method) ? method : 'other'} ${status}`
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  /** A fault for each count that differs. Requests of other clients to the ignored paths do not count. */
  compare(metrics: string, ignoredPaths: readonly string[]): string[] {
    const measured = parseCounts(metrics)
    const isCompared = (key: string) => !ignoredPaths.some((path) => key.startsWith(`${path} `))
    const keys = new Set([...this.#counts.keys(), ...measured.keys()].filter(isCompared))
    return [...keys].flatMap((key) => {
      const [own = 0, other = 0] = [this.#counts.get(key), measured.get(key)]
      return own === other ? [] : [`${own} times ${key}, and ${other} times in the metrics`]
    })
  }
}

/** The service counts lookups as one route and unknown paths as another, and so does this. */
function routeOf(target: string): string {
  const [path = ''] = target.split('?', 1)
  if (path.startsWith('/api/v1/company/')) return '/api/v1/company'
  return path === UNKNOWN_PATH ? 'other' : path
}

/** The path of the load for which no route exists. */
export const UNKNOWN_PATH = '/nowhere'

function parseCounts(metrics: string): Map<string, number> {
  const counts = new Map<string, number>()
  const samples = metrics.matchAll(
    /^company_agent_http_requests_total\{route="(.*)",method="(.*)",status="(.*)"\} (.+)$/gm,
  )
  for (const [, route, method, status, count] of samples) counts.set(`${route} ${method} ${status}`, Number(count))
  return counts
}
