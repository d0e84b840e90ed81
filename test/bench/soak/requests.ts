/** The requests of a soak: one of each kind that clients send. Each sale has its own payment, except the replay. */
import { lookupPath, WORKLOADS, type Corpus, type WorkloadName } from '../load/workloads.ts'
import { UNKNOWN_PATH } from '../load/request-counts.ts'
import type { LoadRequest } from '../load/client.ts'
import { signPayment } from '../load/sign.ts'
import { messageBody } from '../../support/transports.ts'

export interface SoakRequest extends LoadRequest {
  /** A sale is sent until it is answered, always with the same payment. */
  kind: 'sale' | 'other'
}

const SALES: readonly WorkloadName[] = ['paid lookup', 'paid lookup over MCP', 'search', 'resolve', 'paid lookup']
/** The base64 of a text that is not JSON. */
const UNREADABLE_PAYMENT = 'bm9uZQ=='

/**
 * A function for each request, because every sale needs a new payment.
 * @param extension the URI of the extension in the agent card
 */
export function mixedRequests(corpus: Corpus, extension: string): (() => SoakRequest)[] {
  const replays = WORKLOADS.replay.build(corpus, 1).map((request) => () => ({ ...request, kind: 'sale' as const }))
  const sales = [...SALES.map((workload) => () => sale(workload, corpus)), () => saleOverA2a(corpus, extension)]
  const others = otherRequests(corpus, extension).map((request) => () => ({ ...request, kind: 'other' as const }))
  return [...replays, ...others, ...sales]
}

const pick = (values: readonly string[]) => values[Math.floor(Math.random() * values.length)] ?? ''

function sale(workload: WorkloadName, corpus: Corpus): SoakRequest {
  const { companyNumbers, searchTexts, names, replayed } = corpus
  const one = {
    companyNumbers: [pick(companyNumbers)],
    searchTexts: [pick(searchTexts)],
    names: [pick(names)],
    replayed,
  }
  const [request] = WORKLOADS[workload].build(one, 1)
  if (!request) throw new Error(`No request of ${workload}`)
  return { ...request, kind: 'sale' }
}

function saleOverA2a({ companyNumbers }: Corpus, extension: string): SoakRequest {
  const headers = { ...a2aHeaders(extension), 'PAYMENT-SIGNATURE': signPayment() }
  const data = { operation: 'lookup', input: { company_number: pick(companyNumbers) } }
  return { ...post('/a2a', 200, headers, withPart({ data })), kind: 'sale' }
}

const withPart = (part: object) => messageBody({ parts: [part] })
const json = { 'Content-Type': 'application/json' }

function a2aHeaders(extension: string): Record<string, string> {
  return { ...json, 'A2A-Version': '1.0', 'A2A-Extensions': extension }
}

function otherRequests(corpus: Corpus, extension: string): LoadRequest[] {
  const a2a = a2aHeaders(extension)
  const lookup = lookupPath(corpus.companyNumbers[0] ?? '')
  return [
    { path: lookup, status: 402 },
    { path: '/api/v1/search?q=example%20trading&limit=3', status: 402 },
    post('/api/v1/resolve', 402, json, { name: 'Example Trading Ltd', eircode: 'D02 X285' }),
    { path: '/api/v1/meta', status: 200 },
    { path: '/attribution', status: 200 },
    { path: '/docs', status: 200, headers: { Accept: 'text/html', 'Accept-Encoding': 'br' } },
    { path: '/openapi.json', status: 200 },
    { path: '/llms.txt', status: 200, headers: { 'Accept-Encoding': 'gzip' } },
    post('/a2a', 200, a2a, withPart({ text: 'What do you sell?' })),
    post('/a2a', 402, a2a, withPart({ data: { operation: 'lookup', input: { company_number: '73848' } } })),
    { path: lookup, status: 402, headers: { 'PAYMENT-SIGNATURE': UNREADABLE_PAYMENT } },
    { path: '/api/v1/company/none', status: 400 },
    { path: '/api/v1/search', status: 400 },
    { path: UNKNOWN_PATH, status: 404 },
    { method: 'PUT', path: lookup, status: 405 },
    post('/api/v1/resolve', 400, json, '{'),
    post('/a2a', 200, a2a, '{'),
  ]
}

function post(path: string, status: number, headers: Record<string, string>, body: object | string): LoadRequest {
  return { method: 'POST', path, status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
}
