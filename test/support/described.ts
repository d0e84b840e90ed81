/**
 * Holds every answer that a test gets from a whole service against the OpenAPI description which that service gives of
 * itself: status, type, headers, body, and the code of a refusal. An answer it doesn't allow fails the test that got it.
 */
import { z } from 'zod'
import { noteCode } from './seen-codes.ts'

interface Described {
  description?: string
  required?: boolean
  schema?: object
  example?: unknown
  examples?: Record<string, object>
}

interface DescribedResponse {
  headers?: Record<string, { $ref: string }>
  content?: Record<string, Described>
}

export interface Description {
  info: Record<string, unknown>
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, DescribedResponse> }>>
  components: {
    schemas: Record<string, object>
    headers: Record<string, Described>
    examples: Record<string, { value: unknown }>
  }
}

export interface Answer {
  /** The service's base URL. */
  origin: string
  /** The request target as it went over the wire; nobody tidied its dots. */
  target: string
  method: string
  status: number
  header: (name: string) => string | null
  text: string
}

/** Services under test, by their origins. */
const descriptions = new Map<string, Description>()

/** Made once: schemas are the same for every service of a run. */
const validators = new Map<string, z.ZodType>()

/** From now on what this service answers is checked. */
export async function describeService(origin: string): Promise<void> {
  const response = await unchecked(`${origin}/openapi.json`)
  descriptions.set(origin, (await response.json()) as Description)
}

/** Once they have ended: something else may get their ports, such as the next file's chain. */
export function forgetServices(): void {
  descriptions.clear()
}

/** Throws when the description doesn't allow the answer. */
export function checkAnswer(answer: Answer): void {
  if (answer.status >= 400) noteCode(codeOf(answer.text))
  const description = descriptions.get(answer.origin)
  const wrong = description && faultOf(description, answer)
  if (wrong === undefined) return
  throw new Error(`${answer.method} ${answer.target} ${answer.status} is not as described: ${wrong}`)
}

/** What is wrong with an answer; undefined when nothing is. */
export function faultOf(description: Description, answer: Answer): string | undefined {
  const { method, status, text } = answer
  if (method === 'OPTIONS') return status === 204 && text === '' ? undefined : 'a preflight is 204'
  const route = routeOf(description, pathOf(answer.target))
  if (!route) return status === 404 && (method === 'HEAD' || codeOf(text) === 'not_found') ? undefined : 'no such path'
  const named = route[method === 'HEAD' && route['get'] ? 'get' : method.toLowerCase()]
  if (!named && status !== 405) return 'a method that is not described is 405'
  const response = (named ?? Object.values(route)[0])?.responses[String(status)]
  if (!response) return 'the status is not described'
  const fault = headerFault(description, response, answer)
  if (fault !== undefined || method !== 'HEAD') return fault ?? bodyFault(description, response, answer)
  return text === '' ? undefined : 'HEAD has a body'
}

/** Without the query; a target may also be a whole URL (RFC 9112 section 3.2.2). */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/]*/, '').replace(/[?#].*$/s, '')
}

function routeOf({ paths }: Description, path: string) {
  const found = Object.keys(paths).find((template) => pathPattern(template).test(path))
  return found === undefined ? undefined : paths[found]
}

function pathPattern(template: string): RegExp {
  return new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]*')}$`)
}

function headerFault(
  description: Description,
  { headers = {} }: DescribedResponse,
  answer: Answer,
): string | undefined {
  for (const [name, { $ref }] of Object.entries(headers)) {
    const described = description.components.headers[$ref.split('/').at(-1) ?? '']
    const value = answer.header(name)
    if (value === null && described?.required) return `the header ${name} is missing`
    if (value !== null && name === 'Retry-After' && !/^[1-9][0-9]*$/.test(value)) return 'Retry-After is no number'
  }
  return undefined
}

function bodyFault(description: Description, { content }: DescribedResponse, answer: Answer): string | undefined {
  if (!content) return answer.text === '' ? undefined : 'there is a body'
  const [type = ''] = (answer.header('content-type') ?? '').split(';')
  const described = content[type]
  if (!described) return `the type ${type} is not described`
  if (type !== 'application/json') return answer.text === '' ? 'the text is empty' : undefined
  const code = codeOf(answer.text)
  if (answer.status >= 400 && !Object.hasOwn(described.examples ?? {}, String(code)))
    return `the code ${String(code)} is not described`
  const checked = validatorOf(description, described.schema ?? {}).safeParse(JSON.parse(answer.text))
  return checked.success ? undefined : z.prettifyError(checked.error)
}

function codeOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { error?: { code?: unknown } }).error?.code
  } catch {
    return undefined
  }
}

/** A value's check, from its JSON Schema alone. */
export function validatorOf({ components }: Description, schema: object): z.ZodType {
  const text = JSON.stringify(schema)
  const known = validators.get(text)
  if (known) return known
  const whole = JSON.stringify({ ...schema, $defs: components.schemas }).replaceAll('#/components/schemas/', '#/$defs/')
  const made = z.fromJSONSchema(JSON.parse(whole) as Parameters<typeof z.fromJSONSchema>[0])
  validators.set(text, made)
  return made
}

const unchecked = globalThis.fetch

/** `fetch` that checks what described services answer. */
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
