/**
 * `POST /a2a`: JSON-RPC of A2A 1.0 over the SDK's handlers. The route reads the body and sets the HTTP status itself,
 * because the SDK's Express handler answers every request with 200 and accepts invalid messages.
 */
import type { AgentCard } from '@a2a-js/sdk'
import { DefaultRequestHandler, JsonRpcTransportHandler, type TaskStore } from '@a2a-js/sdk/server'
import { Router, type Request, type Response } from 'express'
import type { Report, Timer } from '../../store/runtime.ts'
import { CompanyCall, type CompanyAgentExecutor } from '../executor/agent-executor.ts'
import { renderOutcome, type HttpResponseContent } from '../http/render-outcome.ts'
import { headerValues, isEncoded, isJsonType, readBody } from '../http/request.ts'
import { methodNotAllowed, refuse, sendResponse } from '../http/response.ts'
import { refused } from '../operation/outcome.ts'
import { A2A_PATH } from '../operation/paths.ts'
import type { Refusal } from '../operation/refusal.ts'
import { PAYMENT_HEADERS } from '../payments/terms.ts'
import { withTimeLimit } from '../rpc/deadline.ts'
import { A2A_VERSION } from './card.ts'
import { checkSendMessage, readEnvelope, type Envelope } from './envelope.ts'
import { RPC_ERRORS, RpcFault, type ErrorObject, type RpcId } from './errors.ts'

/** Contract 4.5.1. */
export const BODY_BYTES_MAX = 16_384
/** This limit and the next two: contract 4.5.10. */
export const CALLS_MAX = 8
export const CALL_TIMEOUT_MS = 65_000
export const RESPONSE_BYTES_MAX = 1_048_576

const OVERLOADED: Refusal = { code: 'overloaded', retryAfterSeconds: 1 }

/** Stores nothing, because the service has no tasks (contract 4.5.9). */
const NO_TASKS: TaskStore = {
  save: async () => undefined,
  load: async () => undefined,
  list: async () => ({ tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 }),
}

interface A2aRouteOptions {
  executor: CompanyAgentExecutor
  /** For the SDK's handler. The payment extension is not required in it: the SDK would enforce it for text messages too. */
  card: AgentCard
  extensionUri: string
  timer: Timer
  report: Report
}

export function a2aRoute({ executor, card, extensionUri, timer, report }: A2aRouteOptions): Router {
  const handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, NO_TASKS, executor))
  let calls = 0

  async function answer(request: Request, body: Uint8Array): Promise<HttpResponseContent> {
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
    const content = call.outcome ? renderOutcome(call.outcome) : renderRpc(envelope.id, response)
    if (call.outcome?.kind === 'answer') content.body = JSON.stringify({ ...response, id: envelope.id })
    if (hasExtension) content.headers['A2A-Extensions'] = extensionUri
    return Buffer.byteLength(content.body) > RESPONSE_BYTES_MAX ? gatewayUnavailable() : content
  }

  async function route(request: Request, response: Response): Promise<void> {
    const body = await readBody(request, BODY_BYTES_MAX)
    if (typeof body === 'string') return refuse(response, { code: body })
    if (isEncoded(request)) return refuse(response, { code: 'unsupported_media_type' })
    if (calls >= CALLS_MAX) return refuse(response, OVERLOADED)
    calls += 1
    // A call that exceeds the time limit continues and counts as running. Its answer is stored for a retry.
    const work = answer(request, body)
      .catch((fault: unknown) => {
        if (fault instanceof RpcFault) return renderRpc(fault.id, { jsonrpc: '2.0', error: fault.error })
        report('a2a_call_failed', fault)
        return renderRpc(null, { jsonrpc: '2.0', error: RPC_ERRORS.internal })
      })
      .finally(() => (calls -= 1))
    sendResponse(
      response,
      await withTimeLimit({ timer, milliseconds: CALL_TIMEOUT_MS }, work).catch(gatewayUnavailable),
    )
  }

  const router = Router({ strict: true, caseSensitive: true })
  router.post(A2A_PATH, route)
  router.all(A2A_PATH, (_request, response) => refuse(response, methodNotAllowed('POST')))
  return router
}

function checkType(request: Request): void {
  const types = headerValues(request, 'Content-Type')
  if (types.length === 0) throw new RpcFault(RPC_ERRORS.invalidParams, null)
  if (!isJsonType(types)) throw new RpcFault(RPC_ERRORS.contentType, null)
}

/** Calls the SDK. Replaces its error messages with those of `RPC_ERRORS`, because the SDK's may repeat input. */
async function handle(handler: JsonRpcTransportHandler, { id, request }: Envelope, call: CompanyCall) {
  const handled = await handler.handle(request, call)
  if (!(Symbol.asyncIterator in handled)) {
    const { error } = handled as { error?: ErrorObject }
    return error ? toErrorResponse(error.code) : handled
  }
  // The card declares no streaming, so the SDK refuses a stream at its first step.
  try {
    await handled.next()
    return toErrorResponse(RPC_ERRORS.unsupported.code)
  } catch (cause) {
    return toErrorResponse(JsonRpcTransportHandler.mapToJSONRPCError(cause).code)
  } finally {
    await handled.return(undefined).catch(() => undefined)
  }

  function toErrorResponse(code: number) {
    const known: readonly ErrorObject[] = Object.values(RPC_ERRORS)
    return { jsonrpc: '2.0', id, error: known.find((error) => error.code === code) ?? RPC_ERRORS.internal }
  }
}

function renderRpc(id: RpcId, response: object): HttpResponseContent {
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' }
  return { status: 200, headers, body: JSON.stringify({ ...response, id }) }
}

function gatewayUnavailable(): HttpResponseContent {
  return renderOutcome(refused({ code: 'gateway_unavailable' }))
}
