/** Compares the requests that a load generator has counted with the metrics of the service. */

/** The metrics count all other methods as `other`. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST'])

/** Counts by path, method and status. */
export class RequestCounts {
  readonly #counts = new Map<string, number>()

  add({ path, method = 'GET' }: { path: string; method?: string }, status: number): void {
    const key = `${routeOf(path)} ${METHODS.has(method) ? method : 'other'} ${status}`
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  /** A fault for each count that differs. Ignored paths are those that other clients also request. */
  compare(metrics: string, ignoredPaths: readonly string[]): string[] {
    const measured = parseCounts(metrics)
    const isCompared = (key: string) => !ignoredPaths.some((path) => key.startsWith(`${path} `))
    const keys = new Set([...this.#counts.keys(), ...measured.keys()].filter(isCompared))
    return [...keys].flatMap((key) => {
      const [sent = 0, counted = 0] = [this.#counts.get(key), measured.get(key)]
      return sent === counted ? [] : [`${key} was sent ${sent} times and is in the metrics ${counted} times`]
    })
  }
}

/** The route label of the metrics: one for all lookups, and one for all unknown paths. */
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
