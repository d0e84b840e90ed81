/** Compares the requests that a load generator has counted with the metrics of the service. */

/** The metrics count all other methods as `other`. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST'])

/** Counts by path, method and status. */
export class RequestCounts {
  readonly #counts = new Map<string, number>()
  /** By path and method: requests that the metrics may lack, or may have with any status. */
  readonly #unknown = new Map<string, number>()

  add(request: CountedRequest, status: number): void {
    increment(this.#counts, `${keyOf(request)} ${status}`)
  }

  addUnknown(request: CountedRequest): void {
    increment(this.#unknown, keyOf(request))
  }

  get unknownCount(): number {
    return [...this.#unknown.values()].reduce((sum, count) => sum + count, 0)
  }

  /**
   * A fault for each count above the sum of these metrics, and for each count below it by more than the unknown
   * requests. Ignored paths are those that other clients also request.
   */
  compare(metrics: readonly string[], ignoredPaths: readonly string[]): string[] {
    const measured = new Map<string, number>()
    for (const text of metrics) addMetrics(measured, text)
    const unknown = new Map(this.#unknown)
    const isCompared = (key: string) => !ignoredPaths.some((path) => key.startsWith(`${path} `))
    const keys = new Set([...this.#counts.keys(), ...measured.keys()].filter(isCompared))
    return [...keys].flatMap((key) => {
      const [sent = 0, counted = 0] = [this.#counts.get(key), measured.get(key)]
      const request = key.slice(0, key.lastIndexOf(' '))
      const left = unknown.get(request) ?? 0
      const surplus = counted - sent
      if (surplus >= 0) unknown.set(request, Math.max(0, left - surplus))
      return surplus >= 0 && surplus <= left
        ? []
        : [`${key} was sent ${sent} times and is in the metrics ${counted} times; ${left} outcomes are unknown`]
    })
  }
}

interface CountedRequest {
  path: string
  method?: string
}

function keyOf({ path, method = 'GET' }: CountedRequest): string {
  return `${routeOf(path)} ${METHODS.has(method) ? method : 'other'}`
}

function increment(counts: Map<string, number>, key: string, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

/** The route label of the metrics: one for all lookups, and one for all unknown paths. */
function routeOf(target: string): string {
  const [path = ''] = target.split('?', 1)
  if (path.startsWith('/api/v1/company/')) return '/api/v1/company'
  return path === UNKNOWN_PATH ? 'other' : path
}

/** The path of the load for which no route exists. */
export const UNKNOWN_PATH = '/nowhere'

function addMetrics(counts: Map<string, number>, metrics: string): void {
  const samples = metrics.matchAll(
    /^company_agent_http_requests_total\{route="(.*)",method="(.*)",status="(.*)"\} (.+)$/gm,
  )
  for (const [, route, method, status, count] of samples)
    increment(counts, `${route} ${method} ${status}`, Number(count))
}
