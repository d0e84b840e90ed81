/** The REST resource of an operation: the URL that a quote names, and which operation a URL names. */
import { operationDigest } from './canonical.ts'
import { parseLimitText, parseOperation, type Operation, type OperationName } from './schema.ts'

export const API_PREFIX = '/api/v1'

/** Method and path of each operation; the path of a lookup is followed by the number. */
export const ROUTES = {
  lookup: { method: 'GET', path: `${API_PREFIX}/company` },
  search: { method: 'GET', path: `${API_PREFIX}/search` },
  resolve: { method: 'POST', path: `${API_PREFIX}/resolve` },
} as const satisfies Record<OperationName, { method: string; path: string }>

/** What is bought, in a quote's words. */
export const RESOURCE_DESCRIPTIONS: Record<OperationName, string> = {
  lookup: 'One Irish company record by its number.',
  search: 'A ranked search of Irish companies by name.',
  resolve: 'The resolution of a name to one Irish company, or an honest "ambiguous".',
}

/** A paid route as `METHOD path` (spec 2.9). */
export function endpoint(operation: OperationName): string {
  const { method, path } = ROUTES[operation]
  return `${method} ${path}${operation === 'lookup' ? '/{company_number}' : ''}`
}

/** The canonical URL of an operation under `baseUrl`: query fields in a fixed order, percent-encoded UTF-8. */
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
 * Whether a URL clearly names another operation than this one. `resource` in a payment is unsigned and advisory: a URL
 * that we can't read, or of another host's spelling of the same path, is no contradiction.
 */
export function namesAnotherOperation(url: string, operation: Operation): boolean {
  const named = URL.canParse(url) ? operationOf(new URL(url)) : undefined
  if (named === undefined) return false
  if (named === 'resolve') return operation.operation !== 'resolve'
  return operationDigest(named) !== operationDigest(operation)
}

/** The operation of a URL; of a resolve only its name, since its input is in the body. */
function operationOf({ pathname, searchParams }: URL): Operation | 'resolve' | undefined {
  if (pathname === ROUTES.resolve.path) return 'resolve'
  if (pathname === ROUTES.search.path) return valid('search', searchInput(searchParams))
  const [, number] = pathname.split(`${ROUTES.lookup.path}/`)
  return number === undefined ? undefined : valid('lookup', { company_number: number })
}

/** The parameters of a search's query as its input; a number is written in digits there. */
export function searchInput(query: Iterable<[string, string]>): Record<string, unknown> {
  const { limit, ...rest } = Object.fromEntries(query)
  return limit === undefined ? rest : { ...rest, limit: parseLimitText(limit) }
}

function valid(name: OperationName, input: unknown): Operation | undefined {
  const parsed = parseOperation(name, input)
  return parsed.valid ? parsed.operation : undefined
}
