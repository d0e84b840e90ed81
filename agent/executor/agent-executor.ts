/**
 * The agent: one object that sells, behind both doors. A2A reaches it through the SDK as an {@link AgentExecutor}, the
 * REST facade calls {@link CompanyAgentExecutor.perform}; both end in the same sale.
 */
import { Role, type Message, type Part } from '@a2a-js/sdk'
import {
  AgentEvent,
  ServerCallContext,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
  type ServerCallContextOptions,
} from '@a2a-js/sdk/server'
import { z } from 'zod'
import { sha256Hex } from '../operation/canonical.ts'
import { refused, type Outcome } from '../operation/outcome.ts'
import { inputRefusal, type Refusal } from '../operation/refusal.ts'
import { resourceUrl } from '../operation/resource.ts'
import { OPERATION_NAMES, parseOperation, type Operation } from '../operation/schema.ts'
import { OPERATIONS_ON_SALE } from '../skills/skills.ts'
import { perform } from './perform.ts'
import type { Order, Seller } from './seller.ts'

/** One A2A call: carries the payment in and the outcome out, past the SDK, whose own replies are always HTTP 200. */
export class CompanyCall extends ServerCallContext {
  readonly paymentHeaders: readonly string[]
  /** Set once a structured request has been worked on; a text request has none. */
  outcome: Outcome | undefined

  constructor(options: ServerCallContextOptions & { paymentHeaders: readonly string[] }) {
    super(options)
    this.paymentHeaders = options.paymentHeaders
  }
}

/** The data part of a structured request. Its input is checked by the operation's own schema. */
const structuredRequestSchema = z.strictObject({ operation: z.enum(OPERATION_NAMES), input: z.unknown() })

interface Surroundings {
  seller: Seller
  baseUrl: string
  /** What a text message is answered with. */
  help: string
}

export class CompanyAgentExecutor implements AgentExecutor {
  /** The operations on sale. */
  readonly onSale = OPERATIONS_ON_SALE
  readonly #seller: Seller
  readonly #baseUrl: string
  readonly #help: string
  readonly #running = new Set<Promise<Outcome>>()

  constructor({ seller, baseUrl, help }: Surroundings) {
    this.#seller = seller
    this.#baseUrl = baseUrl
    this.#help = help
  }

  /** Sells one operation. Never rejects: a failure of ours is an outcome too, and its cause stays here. */
  async perform(order: Order): Promise<Outcome> {
    const sale = perform(this.#seller, order).catch((cause: unknown) => {
      this.#seller.desk.report('sale_failed', cause)
      return refused({ code: 'internal_error' })
    })
    this.#running.add(sale)
    try {
      return await sale
    } finally {
      this.#running.delete(sale)
    }
  }

  /**
   * Resolves once every sale under way has ended, so that no settlement goes unrecorded at a stop. Those in line behind
   * another with the same payment have not begun, and by now have nobody to answer: each could take as long again.
   */
  async drain(): Promise<void> {
    this.#seller.turns.close()
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  /** The SDK's entry. It must not reject: the SDK would keep the error as a task for everyone to list. */
  async execute({ userMessage, context }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    try {
      if (!(context instanceof CompanyCall)) throw new TypeError('A call came in by a door that is not ours')
      const content = userMessage.parts[0]?.content
      if (content?.$case === 'text') {
        bus.publish(AgentEvent.message(message(replyId('help', userMessage.messageId), textPart(this.#help))))
      } else {
        // The SDK reads data of null as no content at all; it is still a structured request, and a wrong one.
        const data = content?.$case === 'data' ? content.value : undefined
        context.outcome = await this.#performData(data, context.paymentHeaders)
        bus.publish(AgentEvent.message(toMessage(userMessage.messageId, context.outcome)))
      }
    } finally {
      bus.finished()
    }
  }

  /** There are no tasks to cancel. */
  async cancelTask(): Promise<void> {}

  async #performData(data: unknown, paymentHeaders: readonly string[]): Promise<Outcome> {
    const parsed = parseStructured(data)
    if ('code' in parsed) return refused(parsed)
    return this.perform({ operation: parsed, paymentHeaders, resourceUrl: resourceUrl(this.#baseUrl, parsed) })
  }
}

function parseStructured(data: unknown): Operation | Refusal {
  const request = structuredRequestSchema.safeParse(data)
  if (!request.success) {
    return { code: 'invalid_body', detail: 'the data part must be {operation, input} with a known operation' }
  }
  const { operation, input } = request.data
  const parsed = parseOperation(operation, input)
  return parsed.valid ? parsed.operation : inputRefusal(operation, parsed.fault)
}

/** A bought answer's message has the stored answer's own id, so that a replay gives the same message. */
function toMessage(requestId: string, outcome: Outcome): Message {
  if (outcome.kind === 'refused')
    return message(replyId('refusal', requestId), dataPart({ code: outcome.refusal.code }))
  return message(replyId('answer', outcome.purchaseKey), dataPart(JSON.parse(outcome.body)))
}

/** The same id for the same origin, and no echo of it. */
function replyId(kind: string, origin: string): string {
  return `${kind}-${sha256Hex(origin).slice(0, 32)}`
}

function message(messageId: string, part: Part): Message {
  return {
    messageId,
    contextId: '',
    taskId: '',
    role: Role.ROLE_AGENT,
    parts: [part],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
}

function dataPart(value: unknown): Part {
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: 'application/json' }
}

function textPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}
