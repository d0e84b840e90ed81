/** Canonical URLs of the operations. A quote names its operation by this URL (contract 10.4). */
import { operationDigest } from '../../base/canonical.ts'
import { parseCount } from './fields.ts'
import {
  parseOperation,
  queryMembers,
  toNamed,
  type Operation,
  type OperationDefinition,
  type Operations,
} from './operation.ts'

/** The canonical URL of an operation: parameters in a fixed order, percent-encoded UTF-8. */
export function resourceUrl(baseUrl: string, { definition, input }: Operation): string {
  const path = definition.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])))
  const fields = queryMembers(definition).filter((name) => input[name] !== undefined)
  const query = fields.map((name) => `${name}=${encodeURIComponent(String(input[name]))}`).join('&')
  return `${baseUrl}${path}${query === '' ? '' : `?${query}`}`
}

/**
 * Whether a URL identifies an operation other than this one. The `resource` of a payment is unsigned and advisory, so
 * an unknown URL and another host are accepted.
 */
export function namesAnotherOperation(url: string, operation: Operation, operations: Operations): boolean {
  const named = URL.canParse(url) ? parseResourceUrl(new URL(url), operations) : undefined
  if (named === undefined) return false
  if (named.operation === undefined) return named.definition.name !== operation.definition.name
  return operationDigest(toNamed(named.operation)) !== operationDigest(toNamed(operation))
}

/** The operation of a REST URL. Only its definition for a POST, because its input is in the body. */
export function parseResourceUrl(
  { pathname, searchParams }: URL,
  operations: Operations,
): { definition: OperationDefinition; operation?: Operation } | undefined {
  const found = findRoute(pathname, operations)
  if (!found) return undefined
  const { definition, members } = found
  if (definition.method === 'POST') return { definition }
  const query = queryMembers(definition).length > 0 ? textInput(searchParams) : {}
  const parsed = parseOperation(definition, { ...query, ...members })
  return parsed.kind === 'valid' ? { definition, operation: parsed.operation } : undefined
}

export interface FoundRoute {
  definition: OperationDefinition
  /** The members of the input in the path. */
  members: Record<string, string>
}

/**
 * The operation of a REST path, and the members of the input in it. One trailing slash is accepted (contract 4.7.1).
 * Members are not decoded, so a percent-encoded company number is invalid.
 */
export function findRoute(path: string, operations: Operations): FoundRoute | undefined {
  for (const definition of operations) {
    const found = patternOf(definition.path).exec(path)
    if (found) return { definition, members: { ...found.groups } }
  }
  return undefined
}

const patterns = new Map<string, RegExp>()

/** The pattern of a path with members. */
function patternOf(path: string): RegExp {
  const known = patterns.get(path)
  if (known) return known
  // A member inside the path is not empty: two slashes in a row are no path of a route (contract 4.7.1).
  const source = path
    .replaceAll('.', '\\.')
    .replace(/\{(\w+)\}$/, '(?<$1>[^/]*)')
    .replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  const pattern = new RegExp(`^${source}(?:(?<=[^/])/)?$`)
  patterns.set(path, pattern)
  return pattern
}

/** Matches a path as `findRoute` does, without groups, whose text Express would decode. */
export function matcherOf(path: string): RegExp {
  return new RegExp(patternOf(path).source.replaceAll(/\?<\w+>/g, '?:'))
}

/** The members of inputs that a query parameter does not have as text. */
const MEMBER_PARSERS = new Map<string, (text: string) => unknown>([
  ['limit', parseCount],
  ['start', parseCount],
  ['company_numbers', (text) => text.split(',')],
])

export function textInput(query: Iterable<[string, string]>): Record<string, unknown> {
  return Object.fromEntries([...query].map(([name, value]) => [name, MEMBER_PARSERS.get(name)?.(value) ?? value]))
}
