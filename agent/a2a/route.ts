/**
 * `POST /a2a`: the door for agents (A2A 1.0, JSON-RPC). The SDK is the core; around it stand our own reading of the body
 * and our own HTTP statuses, because its express handler answers everything with 200 and reads too kindly.
 */
import type { AgentCard } from '@a2a-js/sdk'
import { DefaultRequestHandler, JsonRpcTransportHandler, type TaskStore } from '@a2a-js/sdk/server'
import { Router, type Request, type Response } from 'express'
import { CompanyCall, type CompanyAgentExecutor } from '../executor/agent-executor.ts'
import { headerValues, isEncoded, isJsonType, readBody, sendReply } from '../executor/http.ts'
import { replyTo, type Reply } from '../executor/reply.ts'
import type { Seller } from '../executor/seller.ts'
import { refused } from '../operation/outcome.ts'
import type { RefusalCode } from '../operation/refusal.ts'
import { PAYMENT_HEADERS } from '../payments/terms.ts'
import { A2A_PATH, A2A_VERSION } from './card.ts'
import { checkSendMessage, readEnvelope, type Envelope } from './envelope.ts'
import { RPC_ERRORS, RpcFault, type RpcError, type RpcId } from './errors.ts'

/** Spec 8. */
export const BODY_BYTES_MAX = 16_384
export const CALLS_MAX = 8
export const CALL_TIMEOUT_MS = 65_000
export const RESPONSE_BYTES_MAX = 1_048_576

const OVERLOADED_RETRY_AFTER_SECONDS = 1

/** Keeps "no tasks" true: nothing is stored, so nothing is found or listed. */
const NO_TASKS: TaskStore = {
  save: async () => undefined,
  load: async () => undefined,
  list: async () => ({ tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 }),
}

type Timer = Seller['desk']['timer']

interface Door {
  executor: CompanyAgentExecutor
  /** The card as the SDK's handler reads it, with the extension not required: text needs none. */
  card: AgentCard
  extensionUri: string
  timer: Timer
  report: (event: string, cause: unknown) => void
}

export function a2aRoute({ executor, card, extensionUri, timer, report }: Door): Router {
  const handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, NO_TASKS, executor))
  let calls = 0

  async function answer(request: Request, body: Uint8Array): Promise<Reply> {
    checkType(request)
    const envelope = readEnvelope(body)
    if (request.get('A2A-Version') !== A2A_VERSION) throw new RpcFault(RPC_ERRORS.version, envelope.id)
    const extensions = (request.get('A2A-Extensions') ?? '').split(',').map((uri) => uri.trim())
    const hasExtension = extensions.includes(extensionUri)
    if (envelope.method === 'SendMessage') checkSendMessage(envelope, hasExtension)

    const call = new CompanyCall({
      requestedVersion: A2A_VERSION,
      requestedExtensions: extensions,
      paymentHeaders: headerValues(request, PAYMENT_HEADERS.request),
    })
    const response = await handle(handler, envelope, call)
    const reply = call.outcome ? replyTo(call.outcome) : rpcReply(envelope.id, response)
    if (call.outcome?.kind === 'answer') reply.body = JSON.stringify({ ...response, id: envelope.id })
    if (hasExtension) reply.headers['A2A-Extensions'] = extensionUri
    return Buffer.byteLength(reply.body) > RESPONSE_BYTES_MAX ? refusal('gateway_unavailable') : reply
  }

  async function route(request: Request, response: Response): Promise<void> {
    const body = await readBody(request, BODY_BYTES_MAX)
    if (typeof body === 'string') return sendReply(response, refusal(body))
    if (isEncoded(request)) return sendReply(response, refusal('unsupported_media_type'))
    if (calls >= CALLS_MAX) return sendReply(response, refusal('overloaded', OVERLOADED_RETRY_AFTER_SECONDS))
    calls += 1
    // A call that overruns its time goes on, and keeps its place: its answer is stored for the retry.
    const work = answer(request, body)
      .catch((fault: unknown) => {
        if (fault instanceof RpcFault) return rpcReply(fault.id, { jsonrpc: '2.0', error: fault.error })
        report('a2a_call_failed', fault)
        return rpcReply(null, { jsonrpc: '2.0', error: RPC_ERRORS.internal })
      })
      .finally(() => (calls -= 1))
    sendReply(response, await withinTime(work, timer))
  }

  const router = Router({ strict: true, caseSensitive: true })
  router.post(A2A_PATH, route)
  router.all(A2A_PATH, (_request, response) => {
    sendReply(response, replyTo(refused({ code: 'method_not_allowed', allow: 'POST' })))
  })
  return router
}

function checkType(request: Request): void {
  const types = headerValues(request, 'Content-Type')
  if (types.length === 0) throw new RpcFault(RPC_ERRORS.invalidParams, null)
  if (!isJsonType(types)) throw new RpcFault(RPC_ERRORS.contentType, null)
}

/** The SDK's answer as one JSON-RPC response, with our own sentence in place of any error text of its own. */
async function handle(handler: JsonRpcTransportHandler, { id, request }: Envelope, call: CompanyCall) {
  const handled = await handler.handle(request, call)
  if (!(Symbol.asyncIterator in handled))
    return 'error' in handled ? ownWords((handled.error as RpcError).code) : handled
  // A stream is refused at its first step, since the card offers none.
  try {
    await handled.next()
    return ownWords(RPC_ERRORS.unsupported.code)
  } catch (cause) {
    return ownWords(JsonRpcTransportHandler.mapToJSONRPCError(cause).code)
  } finally {
    await handled.return(undefined).catch(() => undefined)
  }

  function ownWords(code: number) {
    const known: readonly RpcError[] = Object.values(RPC_ERRORS)
    return { jsonrpc: '2.0', id, error: known.find((error) => error.code === code) ?? RPC_ERRORS.internal }
  }
}

function rpcReply(id: RpcId, response: object): Reply {
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' }
  return { status: 200, headers, body: JSON.stringify({ ...response, id }) }
}

function refusal(code: RefusalCode, retryAfterSeconds?: number): Reply {
  return replyTo(refused({ code, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }))
}

/** Answers for the work when it overruns; the work itself goes on. */
async function withinTime(work: Promise<Reply>, timer: Timer): Promise<Reply> {
  let cancel: () => void = () => undefined
  const limit = new Promise<Reply>((resolve) => {
    cancel = timer(() => resolve(refusal('gateway_unavailable')), CALL_TIMEOUT_MS)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    cancel()
  }
}
