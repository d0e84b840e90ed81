/**
 * The local reconciliation service for OpenRefine. It buys with the money of its user, so it answers only requests to a
 * loopback name under a path that no other page of this machine can guess, and none of web pages of other hosts.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { escapeHtml } from '../../base/escape-html.ts'
import { escapeInvisible } from '../../base/hidden.ts'
import { parseJson, readUpTo } from '../../base/read-body.ts'
import type { Company } from '../../store/dataset/company.ts'
import { isLoopback, parseUrl } from '../../base/url-policy.ts'
import { openBuyer, type BuyerOptions } from '../library/open-buyer.ts'
import { PurchaseError } from '../library/purchase-error.ts'
import type { BuyerRuntime } from '../library/buy.ts'
import { toTable } from '../readable-answer.ts'
import { companyRow } from '../candidate-row.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { parseOperation } from '../../agent/operation/operation.ts'
import { openStorage } from '../library/folder-storage.ts'
import {
  batchSchema,
  createManifest,
  EXTENSIONS,
  extendSchema,
  parseQueries,
  PROPERTY_LIST,
  toResult,
  valuesOf,
} from './queries.ts'
import { openRecords, type BoughtRecord, type FindRecord } from './records.ts'
import type { ParsedRow, RowResult } from './rows.ts'
import { createRowBuyer, ROWS_AT_ONCE } from './run.ts'

/** Ten queries, each with several thousand characters. */
const BODY_BYTES_MAX = 256 * 1024
const CONNECTIONS_MAX = 16
const RETRY_AFTER_SECONDS = 5

interface ServiceOptions extends BuyerOptions {
  url: string
  runtime: BuyerRuntime
  version: string
  /** Prints a line about a batch that failed. */
  print: (line: string) => void
}

/** OpenRefine shows its user only the status line, so the reason phrase names the error. */
interface Reply {
  status: number
  reason: string
  /** A text is HTML. */
  body: object | string
  retryAfterSeconds?: number
}

/** Bytes of the random path, as many as those of a UUID. */
const PATH_BYTES = 16

/** Returns a server that does not listen yet, and the path of its requests. */
export function openReconciliationService(options: ServiceOptions): { server: Server; path: string } {
  const { url: baseUrl, version, runtime, print, folder = 'purchases' } = options
  const buyRow = createRowBuyer({ baseUrl, buy: openBuyer(options), runtime })
  const context: AnswerContext = {
    path: `/${randomBytes(PATH_BYTES).toString('base64url')}/`,
    manifestAt: (local) => createManifest(baseUrl, version, local),
    buyRow: (row) => buyRow({ listed: row, operation: row.operation }),
    findRecord: openRecords(openStorage(folder)),
    print,
  }
  const server = createServer((request, response) => {
    void answer(request, context)
      .catch((cause: unknown) => describeFailure(print, cause))
      .then((reply) => send(request, response, reply))
  })
  server.maxConnections = CONNECTIONS_MAX
  return { server, path: context.path }
}

interface AnswerContext {
  path: string
  manifestAt: (local: string) => object
  buyRow: (row: ParsedRow) => Promise<RowResult>
  findRecord: FindRecord
  print: ServiceOptions['print']
}

async function answer(request: IncomingMessage, context: AnswerContext): Promise<Reply> {
  const { path } = context
  const url = parseUrl(request.url ?? '', new URL('http://localhost'))
  // A frame sends no origin. The preview buys nothing, and a page of another site does not know its path.
  const isPreview = request.method === 'GET' && url?.pathname === `${path}preview`
  if (!isFromThisMachine(request, isPreview)) return refuse(403, 'Only programs on this machine can use this service')
  if (isPreview) return preview(await context.findRecord(url.searchParams.get('id') ?? ''))
  if (request.method === 'OPTIONS') return ok({})
  if (request.method === 'GET' && url?.pathname === `${path}properties`)
    return ok({ type: url.searchParams.get('type') ?? '', properties: PROPERTY_LIST })
  if (url?.pathname !== path) return refuse(404, 'Not Found')
  if (request.method === 'GET' && url.search === '')
    return ok(context.manifestAt(`http://${request.headers.host ?? ''}${path}`))
  // A page of another local port can make a browser send a GET.
  if (request.method !== 'POST') return refuse(405, 'Queries must be sent with POST')
  if (!/^application\/x-www-form-urlencoded(?:;|$)/i.test(request.headers['content-type'] ?? ''))
    return refuse(415, 'The body must be application/x-www-form-urlencoded')
  const body = await readForm(request)
  if (body === undefined) return refuse(413, 'The body is too large')
  const form = new URLSearchParams(body)
  const [queries, extend] = [form.get('queries'), form.get('extend')]
  if (form.size === 1 && queries !== null) return answerQueries(context, queries)
  if (form.size === 1 && extend !== null) return answerExtend(context, extend)
  return refuse(400, 'Only queries or extend are supported')
}

function preview(found: BoughtRecord | undefined): Reply {
  const rows = found ? Object.entries(companyRow(found.company)).filter(([, value]) => value !== '') : []
  const lines = found
    ? [...toTable(rows), '', `Bought at ${found.boughtAt}`]
    : ['This record was not bought. A preview buys nothing.']
  const text = lines.map((line) => escapeHtml(escapeInvisible(line))).join('\n')
  return ok(`<!doctype html><meta charset="utf-8"><title>Company</title><pre>${text}</pre>\n`)
}

/** Columns for matched cells: first from the records that were bought, the others by lookup. */
async function answerExtend({ buyRow, findRecord, print }: AnswerContext, text: string): Promise<Reply> {
  const asked = extendSchema.safeParse(parseJson(text)).data
  if (!asked) return refuse(400, 'The extension is not valid')
  const read = async (number: string): Promise<Company | undefined> => {
    const parsed = parseOperation(lookup, { company_number: number })
    const found = (await findRecord(number))?.company
    if (found || parsed.kind === 'invalid') return found
    const result = await buyRow({ kind: 'valid', operation: parsed.operation, notes: [] })
    return result.kind === 'found' ? result.answer.company : undefined
  }
  const { answers, failure } = await settleAll(print, [...new Set(asked.ids)], async (id) => {
    const company = await read(id)
    const cells = asked.properties.map((property) => [property.id, company ? valuesOf(company, property.id) : []])
    return [id, Object.fromEntries(cells)] as const
  })
  if (failure !== undefined) return failure
  const meta = asked.properties.map(({ id }) => ({ id, name: EXTENSIONS[id] }))
  return ok({ meta, rows: Object.fromEntries(answers) })
}

/** The answers, and the reply of the first failure if there is none. */
async function settleAll<Item, Answer>(
  print: ServiceOptions['print'],
  items: readonly Item[],
  work: (item: Item) => Promise<Answer>,
): Promise<{ answers: Answer[]; failure: Reply | undefined }> {
  const settled = await Promise.allSettled(items.map(work))
  const answers = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  const [failure] = failures.map((cause) => describeFailure(print, cause))
  return { answers, failure: answers.length === 0 ? failure : undefined }
}

/**
 * Each query is answered alone. One that cannot be bought leaves out its key, which OpenRefine shows as an error of
 * that cell. A batch without any answer has the status of its first failure.
 */
async function answerQueries({ buyRow, print }: AnswerContext, text: string): Promise<Reply> {
  const batch = batchSchema.safeParse(parseJson(text)).data
  if (batch && Object.keys(batch).length > ROWS_AT_ONCE) return refuse(413, 'The batch has too many queries')
  if (!batch) return refuse(400, 'The queries are not valid')
  const queries = parseQueries(batch)
  const { answers, failure } = await settleAll(print, queries, async ([key, query]) => {
    const result = query.isForeign || !query.row ? undefined : await buyRow(query.row)
    return [key, toResult(query, result)] as const
  })
  return failure ?? ok(Object.fromEntries(answers))
}

/**
 * Whether a request is from a program or a loopback page. `Host` stops pages that have bound their own name to this
 * address. `Origin` and `Sec-Fetch-Site` stop other pages: a browser sends one of them with every request of a page.
 */
function isFromThisMachine({ headers }: IncomingMessage, isFrame: boolean): boolean {
  if (!isLoopbackOrigin(`http://${headers.host ?? ''}`)) return false
  if (headers.origin !== undefined) return isLoopbackOrigin(headers.origin)
  return isFrame || headers['sec-fetch-site'] !== 'cross-site'
}

function isLoopbackOrigin(origin: string): boolean {
  const url = parseUrl(origin)
  return url !== undefined && isLoopback(url.hostname)
}

/** Undefined if the body is too large. */
async function readForm(request: IncomingMessage): Promise<string | undefined> {
  // Node reads and drops the rest after the answer, so that the client reads the answer.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  const bytes = await readUpTo(chunks, BODY_BYTES_MAX)
  return bytes && new TextDecoder().decode(bytes)
}

const ok = (body: Reply['body']): Reply => ({ status: 200, reason: 'OK', body })
const refuse = (status: number, reason: string): Reply => ({ status, reason, body: { error: reason } })

/**
 * Purchases before the failure are saved. OpenRefine repeats the batch after 503, which gets them without a second
 * charge.
 */
function describeFailure(print: ServiceOptions['print'], cause: unknown): Reply {
  if (cause instanceof PurchaseError) {
    print(`${cause.code}: ${cause.message}. ${cause.advice}`)
    if (cause.charged === 'no' || cause.code === 'payment_refused') return refuse(403, cause.code)
    return { ...refuse(503, cause.code), retryAfterSeconds: RETRY_AFTER_SECONDS }
  }
  print(cause instanceof Error ? cause.message : 'The service failed')
  return { ...refuse(503, 'service_unreachable'), retryAfterSeconds: RETRY_AFTER_SECONDS }
}

function send({ headers: { origin } }: IncomingMessage, response: ServerResponse, reply: Reply): void {
  const { status, reason, body, retryAfterSeconds } = reply
  // A batch can take a minute, after which the client may be gone. The purchases are saved.
  if (response.destroyed) return
  response.writeHead(status, reason, {
    'Content-Type': typeof body === 'string' ? 'text/html; charset=utf-8' : 'application/json',
    ...(typeof body === 'string' && { 'Content-Security-Policy': "default-src 'none'" }),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Vary: 'Origin',
    ...(origin !== undefined && isLoopbackOrigin(origin) && { 'Access-Control-Allow-Origin': origin }),
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
  })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
