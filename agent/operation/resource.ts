/** REST routes and canonical URLs of the operations. A quote names its operation by this URL (contract 10.4). */
import { operationDigest } from './canonical.ts'
import { PAID_PATHS } from './paths.ts'
import { parseLimitText, parseOperation, type Operation, type OperationName } from './schema.ts'

export const ROUTES = {
  lookup: { method: 'GET', path: PAID_PATHS.lookup },
  search: { method: 'GET', path: PAID_PATHS.search },
  resolve: { method: 'POST', path: PAID_PATHS.resolve },
} as const satisfies Record<OperationName, { method: string; path: string }>

/** The `resource.description` of a quote. */
export const RESOURCE_DESCRIPTIONS: Record<OperationName, string> = {
  lookup: 'One Irish company record by its number.',
  search: 'A ranked search of Irish companies by name.',
  resolve: 'The resolution of a name to one Irish company, or an honest "ambiguous".',
}

/** A paid route as `METHOD path` (contract 2.9). */
export function endpoint(operation: OperationName): string {
  const { method, path } = ROUTES[operation]
  return `${method} ${path}${operation === 'lookup' ? '/{company_number}' : ''}`
}

/** The canonical URL of an operation: parameters in a fixed order, percent-encoded UTF-8. */
export function resourceUrl(baseUrl: string, operation: Operation): string {
  const base = `${baseUrl}${ROUTES[operation.operation].path}`
  switch (operation.operation) {
    case 'lookup':
      return `${base}/${operation.input.company_number}`
    case 'search': {
      const { q, limit, status, eircode } = operation.input
      const fields = Object.entries({ q, limit, status, eircode }).filter(([, value]) => value !== undefined)
      return `${base}?${fields.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`
    }
    case 'resolve':
      return base
  }
}

/**
 * Whether a URL identifies an operation other than this one. The `resource` of a payment is unsigned and advisory, so an
 * unknown URL and another host are accepted.
 */
export function namesAnotherOperation(url: string, operation: Operation): boolean {
  const named = URL.canParse(url) ? parseResourceUrl(new URL(url)) : undefined
  if (named === undefined) return false
  if (named === 'resolve') return operation.operation !== 'resolve'
  return operationDigest(named) !== operationDigest(operation)
}

/** The operation of a REST URL. Only the name for a resolve, because its input is in the body. */
export function parseResourceUrl({ pathname, searchParams }: URL): Operation | 'resolve' | undefined {
  const path = pathname.replace(/\/$/, '')
  if (path === ROUTES.resolve.path) return 'resolve'
  if (path === ROUTES.search.path) return parseInput('search', searchInput(searchParams))
  const [, number] = path.split(`${ROUTES.lookup.path}/`)
  return number === undefined ? undefined : parseInput('lookup', { company_number: number })
}

/** The input of a search from its query parameters, with `limit` as a number. */
export function searchInput(query: Iterable<[string, string]>): Record<string, unknown> {
  const { limit, ...rest } = Object.fromEntries(query)
  return limit === undefined ? rest : { ...rest, limit: parseLimitText(limit) }
}

function parseInput(name: OperationName, input: unknown): Operation | undefined {
  const parsed = parseOperation(name, input)
  return parsed.kind === 'valid' ? parsed.operation : undefined
}
