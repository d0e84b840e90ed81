/**
 * Checks every answer that a test gets from a service against the OpenAPI description of that service: status, content
 * type, headers, body and error code. An answer that is not described fails the test.
 */
import { z } from 'zod'
import { lookup } from '../../agent/operation/lookup.ts'
import { priceKey } from '../../agent/operation/operation.ts'

interface DescribedBody {
  description?: string
  required?: boolean
  schema?: object
  example?: unknown
}

interface DescribedResponse {
  description: string
  headers?: Record<string, { $ref: string }>
  content?: Record<string, DescribedBody>
}

interface DescribedOperation {
  operationId: string
  responses: Record<string, DescribedResponse | { $ref: string }>
}

export interface OpenApiDescription {
  info: Record<string, unknown>
  paths: Record<string, Record<string, DescribedOperation>>
  components: {
    schemas: Record<string, object>
    headers: Record<string, DescribedBody>
    responses: Record<string, DescribedResponse>
  }
}

export interface HttpAnswer {
  /** The service's base URL. */
  origin: string
  /** The request target as sent, without normalisation of dots. */
  target: string
  method: string
  status: number
  header: (name: string) => string | null
  text: string
}

/** Pages, guides and what leads to the description, which it does not have itself. */
const UNDESCRIBED =
  /^\/(docs(\/.*)?|llms\.txt|robots\.txt|testnet-client\.py|\.well-known\/(api-catalog|security\.txt))?$/

/** Services under test, by their origins. */
const descriptions = new Map<string, OpenApiDescription>()

/** A cache: services with schemas of the same names have the same schemas. */
const validators = new Map<string, z.ZodType>()

/** Enables the check for a service. */
export async function loadDescription(origin: string): Promise<void> {
  const response = await unchecked(`${origin}/openapi.json`)
  descriptions.set(origin, (await response.json()) as OpenApiDescription)
}

/** For services that have stopped: other servers may get their ports. */
export function clearDescriptions(): void {
  descriptions.clear()
}

/** Throws if the answer is not described. */
export function checkAnswer(answer: HttpAnswer): void {
  const description = descriptions.get(answer.origin)
  const wrong = description && findOpenApiFault(description, answer)
  if (wrong === undefined) return
  throw new Error(`${answer.method} ${answer.target} ${answer.status} is not described: ${wrong}`)
}

/** The first difference from the description, if any. */
function findOpenApiFault(description: OpenApiDescription, answer: HttpAnswer): string | undefined {
  const { method, status, text } = answer
  if (method === 'OPTIONS') return status === 204 && text === '' ? undefined : 'a preflight must have status 204'
  const path = parsePath(answer.target)
  if (UNDESCRIBED.test(path)) return undefined
  const route = findPathItem(description, path)
  // A URL with an invalid encoding is not HTTP, so that no route describes its refusal.
  if (status === 400 && parseCode(text) === 'malformed_request') return undefined
  if (!route)
    return status === 404 && (method === 'HEAD' || parseCode(text) === 'not_found') ? undefined : 'unknown path'
  const named = route[method === 'HEAD' && route['get'] ? 'get' : method.toLowerCase()]
  if (!named && status !== 405) return 'the status must be 405'
  const response = responseOf(description, (named ?? Object.values(route)[0])?.responses[String(status)])
  if (!response) return 'the status is not described'
  const fault = headerFault(description, response, answer)
  if (fault !== undefined || method !== 'HEAD') return fault ?? bodyFault(description, response, answer)
  return text === '' ? undefined : 'HEAD has a body'
}

/** The response itself, or the component that it refers to. */
export function responseOf(
  { components }: OpenApiDescription,
  response: DescribedResponse | { $ref: string } | undefined,
): DescribedResponse | undefined {
  return response && '$ref' in response ? components.responses[response.$ref.split('/').at(-1) ?? ''] : response
}

/** The codes that the description of a response names. */
export const codesIn = ({ description }: DescribedResponse): string[] =>
  Array.from(description.matchAll(/`([\w-]+)`/g), ([, code = '']) => code)

/** The described path of a target, which may be an absolute URL (RFC 9112 section 3.2.2) and end with one slash. */
function parsePath(target: string): string {
  const path = target.replace(/^https?:\/\/[^/]*/, '').replace(/[?#].*$/s, '')
  return path === `${priceKey(lookup)}/` ? path : path.replace(/(?<=[^/])\/$/, '')
}

function findPathItem({ paths }: OpenApiDescription, path: string) {
  const found = Object.keys(paths).find((template) => pathPattern(template).test(path))
  return found === undefined ? undefined : paths[found]
}

function pathPattern(template: string): RegExp {
  // The number of a lookup can be empty.
  const pattern = template.replaceAll('.', '\\.').replace(/\{\w+\}$/, '[^/]*')
  return new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/]+')}$`)
}

function headerFault(
  description: OpenApiDescription,
  { headers = {} }: DescribedResponse,
  answer: HttpAnswer,
): string | undefined {
  for (const [name, { $ref }] of Object.entries(headers)) {
    const described = description.components.headers[$ref.split('/').at(-1) ?? '']
    const value = answer.header(name)
    if (value === null && described?.required) return `the header ${name} is missing`
    if (value !== null && name === 'Retry-After' && !/^[1-9][0-9]*$/.test(value)) return 'Retry-After is not a number'
  }
  return undefined
}

function bodyFault(
  description: OpenApiDescription,
  response: DescribedResponse,
  answer: HttpAnswer,
): string | undefined {
  const { content } = response
  if (!content) return answer.text === '' ? undefined : 'there is a body'
  const [type = ''] = (answer.header('content-type') ?? '').split(';')
  // A browser gets a quote as a page.
  if (type === 'text/html' && answer.status === 402) return undefined
  const described = content[type]
  if (!described) return `the type ${type} is not described`
  if (type !== 'application/json') return answer.text === '' ? 'the text is empty' : undefined
  const code = parseCode(answer.text)
  if (answer.status >= 400 && !codesIn(response).includes(String(code)))
    return `the code ${String(code)} is not described`
  const checked = buildValidator(description, described.schema ?? {}).safeParse(JSON.parse(answer.text))
  return checked.success ? undefined : z.prettifyError(checked.error)
}

function parseCode(text: string): unknown {
  try {
    return (JSON.parse(text) as { error?: { code?: unknown } }).error?.code
  } catch {
    return undefined
  }
}

/** Builds a validator from a JSON Schema. */
export function buildValidator({ components }: OpenApiDescription, schema: object): z.ZodType {
  const key = JSON.stringify([schema, Object.keys(components.schemas)])
  const known = validators.get(key)
  if (known) return known
  const whole = JSON.stringify({ ...schema, $defs: components.schemas }).replaceAll('#/components/schemas/', '#/$defs/')
  const made = z.fromJSONSchema(JSON.parse(whole) as Parameters<typeof z.fromJSONSchema>[0])
  validators.set(key, made)
  return made
}

const unchecked = globalThis.fetch

/** `fetch` with the check for described services. */
export async function checkedFetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const response = await unchecked(input, init)
  const { origin, pathname } = new URL(input instanceof Request ? input.url : String(input))
  if (!descriptions.has(origin)) return response
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
  const { status, headers } = response
  const header = (name: string) => headers.get(name)
  checkAnswer({ origin, target: pathname, method, status, header, text: await response.clone().text() })
  return response
}
