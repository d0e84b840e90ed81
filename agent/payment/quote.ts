/** Builds the quote of an operation (x402 v2 `PaymentRequired`). */
import type { ResourceInfo } from '@x402/core/types'
import { SERVICE_NAME } from '../operation/endpoints.ts'
import type { Operation, OperationDefinition } from '../operation/operation.ts'
import type { Quote, QuoteReason } from '../operation/outcome.ts'
import { cutText } from '../operation/statuses.ts'
import { buildExtensions } from './extensions.ts'
import { amountOf, buildRequirements, X402_VERSION, type Terms } from './terms.ts'

interface QuoteRequest {
  terms: Terms
  operation: Operation
  /** The REST resource to buy. */
  url: string
  reason: QuoteReason
  /** What the buyer should know about this request, before the description of the operation. */
  note?: string | undefined
}

/**
 * With a longer URL or a note the quote omits `bazaar`, the name and the tags. All headers of a 402 have at most 4,000
 * bytes, because a default nginx answers 502 beyond 4 KiB.
 */
const URL_CHARACTERS_LISTED_MAX = 640
/**
 * Above this length the URL has UTF-8 characters instead of percent escapes, which URL parsers treat the same. Only
 * long searches in non-Latin scripts reach it.
 */
const URL_CHARACTERS_MAX = 1_360

/**
 * The JSON text of the members that depend on terms, operation and amount only, without the opening brace. Encoding
 * them for each request makes a quote at least 10 % slower (`bench perf`, row "quote").
 */
const constantMembers = memoizePerAmount((terms, definition, amount) => {
  const accepts = [buildRequirements(terms, amount)]
  const { bazaar, ...others } = buildExtensions(terms, definition)
  const encode = (extensions: object) => JSON.stringify({ accepts, extensions }).slice(1)
  return { full: encode({ ...(bazaar && { bazaar }), ...others }), short: encode(others) }
})

function describeResource({ skill }: OperationDefinition, { url, note }: QuoteRequest): ResourceInfo {
  const short = url.length > URL_CHARACTERS_MAX ? url.replace(/(%[89A-F][0-9A-F])+/gi, decodeURIComponent) : url
  return { url: short, description: describe(skill.description, { url, note }), mimeType: 'application/json' }
}

/** The note comes first. Beside a long URL it has the place of the description. */
function describe(description: string, { url, note }: Pick<QuoteRequest, 'url' | 'note'>): string {
  if (note === undefined) return description
  return url.length > URL_CHARACTERS_LISTED_MAX ? cutText(note, description.length) : `${note} ${description}`
}

export function buildQuote(request: QuoteRequest): Quote {
  const { terms, operation, url, reason, note } = request
  const { definition } = operation
  const { full, short } = constantMembers(terms, operation)
  const isListed = note === undefined && url.length <= URL_CHARACTERS_LISTED_MAX
  const resource = describeResource(definition, request)
  const shown = isListed ? { ...resource, serviceName: SERVICE_NAME, tags: definition.skill.tags } : resource
  const members = `"x402Version":${X402_VERSION},"resource":${JSON.stringify(shown)},${isListed ? full : short}`
  const json = `{"error":${JSON.stringify(reason)},${members}`
  // The same bytes as encodePaymentRequiredHeader of x402, which would double the time to build a quote.
  return { header: Buffer.from(json).toString('base64'), json, members }
}

/**
 * Caches the result of `build` by the name of the operation, the amount and the company of the examples. A batch has at
 * most a few hundred amounts.
 */
function memoizePerAmount<T>(build: (terms: Terms, definition: OperationDefinition, amount: number) => T) {
  const cache = new WeakMap<Terms, Map<string, T>>()
  return (terms: Terms, operation: Operation): T => {
    const values = cache.get(terms) ?? new Map<string, T>()
    cache.set(terms, values)
    const { definition } = operation
    const amount = amountOf(terms, operation)
    const key = `${definition.name} ${amount} ${terms.example?.company_number}`
    const value = values.get(key) ?? build(terms, definition, amount)
    values.set(key, value)
    return value
  }
}
