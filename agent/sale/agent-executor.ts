/**
 * Performs operations for all transports. REST and MCP call {@link CompanyAgentExecutor.perform}. A2A calls
 * {@link CompanyAgentExecutor.execute} through the SDK.
 */
import { Message } from '@a2a-js/sdk'
import {
  AgentEvent,
  ServerCallContext,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
  type ServerCallContextOptions,
} from '@a2a-js/sdk/server'
import type { Report } from '../../base/runtime.ts'
import { sha256Hex } from '../../base/canonical.ts'
import { rateLimited, refused, type Outcome } from '../operation/outcome.ts'
import type { Operations } from '../operation/operation.ts'
import { paymentExtensionUri } from '../operation/endpoints.ts'
import { resourceUrl } from '../operation/resource.ts'
import { parseStructuredRequest } from '../operation/structured-request.ts'
import { decodeSettlement } from '../payment/headers.ts'
import { perform } from './perform.ts'
import type { SaleRequest, SaleContext } from './sale-context.ts'

/** What a transport knows about a sale before the executor has parsed the operation. */
type CallSale = Omit<SaleRequest, 'operation' | 'resourceUrl'>

/**
 * The SDK context of one A2A call, extended by the payment, the client and the limit of sales (for the executor) and
 * the outcome (for the route).
 */
export class CompanyCall extends ServerCallContext {
  readonly sale: CallSale
  /** Set by the executor for a structured request. A text request has none. */
  outcome: Outcome | undefined

  constructor(options: ServerCallContextOptions & { sale: CallSale }) {
    super(options)
    this.sale = options.sale
  }
}

interface ExecutorOptions {
  context: SaleContext
  baseUrl: string
  /** The answer to a text message. */
  help: (text: string) => string
  /** Runs `sell` with services whose calls are measured. Called for each request with a payment. */
  trace?: (
    sale: { context: SaleContext; request: SaleRequest },
    sell: (context: SaleContext) => Promise<Outcome>,
  ) => Promise<Outcome>
  onOutcome?: (operation: string, outcome: Outcome) => void
}

export class CompanyAgentExecutor implements AgentExecutor {
  readonly #options: ExecutorOptions
  readonly #running = new Set<Promise<Outcome>>()

  constructor(options: ExecutorOptions) {
    this.#options = options
  }

  get operations(): Operations {
    return this.#options.context.terms.operations
  }

  /** Never rejects: an unexpected failure is reported and becomes `internal_error`. */
  async perform(request: SaleRequest): Promise<Outcome> {
    const { context, onOutcome } = this.#options
    const { report } = context.services
    using inProgress = request.client.budget.begin()
    if (!inProgress) return rateLimited(0)
    const sale = this.#perform(request).catch((cause: unknown) => {
      report('sale_failed', cause, request.requestId)
      return refused({ code: 'internal_error' })
    })
    this.#running.add(sale)
    const outcome = await sale
    this.#running.delete(sale)
    onOutcome?.(request.operation.definition.name, outcome)
    return outcome
  }

  /**
   * Resolves when all running sales have ended, so a stop leaves no settlement unrecorded. Requests that wait for the
   * mutex of their payment get an unknown outcome instead, because running them one by one could exceed the time of a
   * stop.
   */
  async drain(): Promise<void> {
    this.#options.context.paymentMutex.close()
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  /** Called by the SDK. Must not reject: the SDK would store the error as a task that any client can list. */
  async execute({ userMessage, context }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    try {
      if (!(context instanceof CompanyCall)) throw new TypeError('The call context is not a CompanyCall')
      const content = userMessage.parts[0]?.content
      if (content?.$case === 'text') {
        const text = this.#options.help(content.value)
        const part = { text, mediaType: 'text/plain' }
        bus.publish(AgentEvent.message(message(replyId('help', userMessage.messageId), part)))
      } else {
        // The SDK drops the content of `data: null`. It counts as a structured request with an invalid body.
        const data = content?.$case === 'data' ? content.value : undefined
        context.outcome = await this.#performData(data, context)
        const extensionUri = paymentExtensionUri(this.#options.baseUrl)
        bus.publish(AgentEvent.message(toMessage(userMessage.messageId, context.outcome, extensionUri)))
      }
    } finally {
      bus.finished()
    }
  }

  /** The service has no tasks. */
  async cancelTask(): Promise<void> {}

  #perform(request: SaleRequest): Promise<Outcome> {
    const { context, trace } = this.#options
    if (request.paymentHeaders.length === 0) return perform(context, request)
    const { services } = context
    const report: Report = (event, cause) => services.report(event, cause, request.requestId)
    const reported = { ...context, services: { ...services, report } }
    if (!trace) return perform(reported, request)
    return trace({ context: reported, request }, (traced) => perform(traced, request))
  }

  async #performData(data: unknown, { sale }: CompanyCall): Promise<Outcome> {
    const parsed = parseStructuredRequest(data, this.operations)
    if (parsed.kind === 'refused') return parsed
    const { operation } = parsed
    return this.perform({
      operation,
      resourceUrl: resourceUrl(this.#options.baseUrl, operation),
      ...sale,
    })
  }
}

/** The id of an answer is derived from the stored record, so a replay has the same message (contract 4.5.9). */
function toMessage(requestId: string, outcome: Outcome, extensionUri: string): Message {
  if (outcome.kind === 'refused')
    return message(replyId('refusal', requestId), dataPart({ code: outcome.refusal.code }))
  // Clients of the SDK do not see the header with the settlement.
  const metadata = { [extensionUri]: decodeSettlement(outcome.paymentResponse) }
  return message(replyId('answer', outcome.purchaseKey), dataPart(JSON.parse(outcome.body)), metadata)
}

/** Equal origins give equal ids. The hash hides the origin, which names the payer or is client input. */
function replyId(kind: string, origin: string): string {
  return `${kind}-${sha256Hex(origin).slice(0, 32)}`
}

/** A message of the agent with one part, which is given in the JSON of A2A. */
function message(messageId: string, part: object, metadata?: object): Message {
  return Message.fromJSON({ messageId, role: 'ROLE_AGENT', parts: [part], metadata })
}

function dataPart(data: unknown) {
  return { data, mediaType: 'application/json' }
}
