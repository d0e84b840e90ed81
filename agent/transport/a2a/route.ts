/**
 * `POST /a2a`: JSON-RPC of A2A 1.0 over the SDK's handlers. The route reads the body and sets the HTTP status itself,
 * because the SDK's Express handler answers every request with 200 and accepts invalid messages.
 */
import { DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler } from '@a2a-js/sdk/server'
import type { Request, RequestHandler, Response } from 'express'
import { withDeadline } from '../../../base/deadline.ts'
import type { Report, Timer } from '../../../base/runtime.ts'
import { CompanyCall, type CompanyAgentExecutor } from '../../sale/agent-executor.ts'
import type { SaleRequest } from '../../sale/sale-context.ts'
import { WorkQueue } from '../../sale/limits/work-queue.ts'
import { CALL_BODY_BYTES_MAX, CALLS_MAX, LATE } from '../call-limits.ts'
import { type HttpResponseContent, renderOutcome, sendResponse } from '../http/response.ts'
import type { Clients } from '../http/connections.ts'
import { isJsonRequest, paymentHeadersOf, readBody, requestIdOf } from '../http/request.ts'
import { refused } from '../../operation/outcome.ts'
import { A2A_VERSION, isA2aVersion, paymentExtensionUri } from '../../operation/endpoints.ts'
import type { Terms } from '../../payment/terms.ts'
import { CALL_MS_MAX } from '../../settlement/rpc/time-limits.ts'
import { agentCard } from './card.ts'
import { readEnvelope, readSendMessage } from './envelope.ts'
import { describeRpcError, errorOfCode, RPC_ERRORS, RpcFault } from './errors.ts'

/** Contract 4.5.10. */
export const RESPONSE_BYTES_MAX = 1_048_576
/**
 * Batches are refused before they are charged (contract 4.11.4). Only a page of a history of extremely long records is
 * larger.
 */
const TOO_LARGE = 'it exceeds 1 MiB, and the same payment gets it over REST'

/** The header and the query parameter with the protocol version. */
const VERSION_NAME = 'A2A-Version'

/** Stores nothing, because the service has no tasks (contract 4.5.9). */
class NoTasks extends InMemoryTaskStore {
  override async save(): Promise<void> {}
}

interface A2aOptions {
  executor: CompanyAgentExecutor
  baseUrl: string
  version: string
  terms: Terms
  clients: Clients
  timer: Timer
  report: Report
}

export function a2aHandler(options: A2aOptions): RequestHandler {
  const { executor, clients, timer, report, ...described } = options
  const extensionUri = paymentExtensionUri(described.baseUrl)
  // The SDK would enforce a required extension for text messages too.
  const card = { ...agentCard({ ...described, exampleCompany: undefined }), capabilities: undefined }
  const handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new NoTasks(), executor))
  const calls = new WorkQueue(CALLS_MAX)

  async function answer(
    request: Request,
    body: Uint8Array,
    sale: Pick<SaleRequest, 'client' | 'paymentHeaders'>,
  ): Promise<HttpResponseContent> {
    if (!isJsonRequest(request)) throw new RpcFault(RPC_ERRORS.contentType, null)
    const envelope = readEnvelope(body)
    const { id } = envelope
    if (!isA2aVersion(readVersion(request))) throw new RpcFault(RPC_ERRORS.version, id)
    const extensions = (request.get('A2A-Extensions') ?? '').split(',').map((uri) => uri.trim())
    const hasExtension = extensions.includes(extensionUri)
    const call = new CompanyCall({
      requestedVersion: A2A_VERSION,
      requestedExtensions: extensions,
      sale: { ...sale, requestId: requestIdOf(request), calls },
    })
    // The SDK requires parameters also where each of them is optional.
    if (envelope.method !== 'SendMessage')
      return renderRpc(id, await handle(handler, { ...envelope, params: envelope.params ?? {} }, call))
    const params = readSendMessage(envelope, { uri: extensionUri, isActive: hasExtension })
    const response = await handle(handler, { ...envelope, params }, call)
    const content = call.outcome ? renderOutcome(call.outcome) : renderRpc(id, response)
    if (call.outcome?.kind === 'answer') content.body = JSON.stringify({ ...response, id })
    if (hasExtension) content.headers['A2A-Extensions'] = extensionUri
    return Buffer.byteLength(content.body) > RESPONSE_BYTES_MAX ? gatewayUnavailable(TOO_LARGE) : content
  }

  async function route(request: Request, response: Response): Promise<void> {
    const client = clients.of(request)
    const paymentHeaders = paymentHeadersOf(request)
    const limited = client.budget.admit({ mayReplay: paymentHeaders.length > 0 })
    if (limited) return sendResponse(response, renderOutcome(limited))
    const body = await readBody(request, { bytesMax: CALL_BODY_BYTES_MAX, client })
    if (body.kind === 'refused') return sendResponse(response, renderOutcome(body))
    // A call that exceeds the time limit continues and counts as running. Its answer is stored for a retry.
    const work = answer(request, body.bytes, { client, paymentHeaders }).catch((fault: unknown) => {
      if (fault instanceof RpcFault) return renderRpc(fault.id, { jsonrpc: '2.0', error: fault.error })
      report('a2a_call_failed', fault, requestIdOf(request))
      return renderRpc(null, { jsonrpc: '2.0', error: RPC_ERRORS.internal })
    })
    sendResponse(
      response,
      await withDeadline({ timer, milliseconds: CALL_MS_MAX }, () => work).catch(() => gatewayUnavailable(LATE)),
    )
  }

  return route
}

/**
 * The requested protocol version, from the header or else from the query (A2A 1.0 section 3.6.1). A repeated header is
 * joined by commas and a repeated parameter counts as none, so neither is a supported version.
 */
function readVersion(request: Request): string | undefined {
  const header = request.get(VERSION_NAME)
  if (header !== undefined) return header
  const [version, ...more] = new URLSearchParams(request.originalUrl.split('?')[1]).getAll(VERSION_NAME)
  return more.length === 0 ? version : undefined
}

/** Calls the SDK. Replaces its error messages, because they may repeat input. */
async function handle(
  handler: JsonRpcTransportHandler,
  request: ReturnType<typeof readEnvelope>,
  call: CompanyCall,
): Promise<object> {
  const handled = await handler.handle(request, call)
  // The service has no streams, so the first event would be this error.
  if (Symbol.asyncIterator in handled) return { jsonrpc: '2.0', error: RPC_ERRORS.unsupported }
  const { error } = handled as { error?: { code: number } }
  return error ? { jsonrpc: '2.0', error: errorOfCode(error.code) } : handled
}

function renderRpc(id: RpcFault['id'], given: object): HttpResponseContent {
  const { error } = given as { error?: RpcFault['error'] }
  const response = error ? { ...given, error: describeRpcError(error) } : given
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' }
  return { status: 200, headers, body: JSON.stringify({ ...response, id }) }
}

function gatewayUnavailable(detail: string): HttpResponseContent {
  return renderOutcome(refused({ code: 'gateway_unavailable', detail }))
}
