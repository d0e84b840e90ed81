/**
 * Measures what the service does: the calls of response log, facilitator and chain, the reports of failures, and each
 * request with a payment, which it describes in one log line. The measured parts contain no measurement.
 */
import type { Claim, ResponseRecord } from '../../../store/log/record.ts'
import type { RecordState } from '../../../store/log/states.ts'
import { HOUR_MS } from '../../../base/day.ts'
import type { Report } from '../../../base/runtime.ts'
import type { Outcome, Refused } from '../../operation/outcome.ts'
import { amountOf } from '../../payment/terms.ts'
import type { SaleContext, SaleRequest } from '../../sale/sale-context.ts'
import type { Observation } from '../../settlement/chain/observe.ts'
import type { SettlementServices } from '../../settlement/services.ts'
import type { ServiceMetrics } from './metrics.ts'

/** How long failed sales count beside others that succeed. */
const FAILED_SALES_MS = 600_000
/** More failed sales in this time are no single ones. */
const FAILED_SALES_MAX = 2

/** The fields of the log line `sale`: no signature, no body and no text of the query (contract 14.9). */
export interface SaleLine {
  request_id: string | undefined
  operation: string
  /** `refused` is every other answer, also one after which the outcome of the payment is unknown. */
  result: 'sold' | 'replayed' | 'refused'
  /** Of a refusal: what its quote says, or its code. */
  reason?: string
  /** The payment identity, and the state of its record. Absent without a record. */
  payment?: string
  state?: RecordState
  /** `total` and each step, in milliseconds. A step that was repeated has the sum. */
  durations_ms: Record<string, number>
}

/** The methods that are measured, with the names of their steps. */
const STEPS: ReadonlyMap<unknown, string> = new Map([
  ['read', 'log_read'],
  ['claim', 'log_claim'],
  ['advance', 'log_advance'],
  ['prune', 'log_prune'],
  ['verify', 'facilitator_verify'],
  ['settle', 'facilitator_settle'],
  ['observe', 'chain_observe'],
  ['findUse', 'chain_use'],
  ['findTransfers', 'chain_transfers'],
])

/** A measured call that has ended. */
interface Call {
  step: string
  seconds: number
  /** Absent after a failure. */
  result?: unknown
  /** The record that the call has stored, or whose state it has changed. */
  changed?: ResponseRecord | undefined
}

/** These reports of a sale are failures of this service, whatever the payment. */
const OWN_FAILURES: readonly string[] = ['sale_failed', 'dataset_unreadable']
/** These can also be caused by the payment, if its payer is a contract or has too little money. */
const REMOTE_FAILURES: readonly string[] = ['verification_unclear', 'refusal_contradicted', 'settlement_unclear']

interface InstrumentationOptions {
  /** Undefined without an admin address. */
  metrics: ServiceMetrics | undefined
  clock: () => number
  report: Report
  onSale: (line: SaleLine) => void
}

export class Instrumentation {
  readonly #options: InstrumentationOptions
  /** By event, on the monotonic clock. */
  readonly #reportedAt = new Map<string, number>()
  #failedSales: number[] = []
  #hasLastSaleFailed = false

  constructor(options: InstrumentationOptions) {
    this.#options = options
  }

  readonly report: Report = (event, cause, requestId) => {
    const { metrics, clock, report } = this.#options
    metrics?.countEvent(event)
    this.#reportedAt.set(event, clock())
    report(event, cause, requestId)
  }

  /** Whether this process has reported the event within the last hour. */
  hasReported(event: string): boolean {
    return this.#options.clock() - (this.#reportedAt.get(event) ?? -Infinity) < HOUR_MS
  }

  /** Whether the last sale or several ones of the last minutes failed, and not because of their payment. */
  areSalesFailing(): boolean {
    const start = this.#options.clock() - FAILED_SALES_MS
    this.#failedSales = this.#failedSales.filter((time) => time >= start)
    return this.#failedSales.length > (this.#hasLastSaleFailed ? 0 : FAILED_SALES_MAX)
  }

  /** The services of payments with measured calls. `onCall` belongs to one request. */
  observe<Services extends Pick<SettlementServices, 'log' | 'facilitator' | 'chain'>>(
    services: Services,
    onCall: (call: Call) => void = () => undefined,
  ): Services {
    const { metrics } = this.#options
    const note = (call: Call, cause?: unknown) => {
      metrics?.countStep({ ...call, cause })
      if (call.changed) metrics?.countRevenue(call.changed)
      onCall(call)
    }
    const { log, facilitator, chain } = services
    return {
      ...services,
      log: observePart(log, note),
      facilitator: observePart(facilitator, note),
      chain: observePart(chain, note),
    }
  }

  /** Runs a request with a payment. */
  async sell(
    { context, request }: { context: SaleContext; request: SaleRequest },
    run: (context: SaleContext) => Promise<Outcome>,
  ): Promise<Outcome> {
    const durations_ms: Record<string, number> = {}
    /** The newest version of the record that the request has read, stored or changed. */
    let record: ResponseRecord | undefined
    let isStored = false
    let isPayerGood = false
    const amount = BigInt(amountOf(context.terms, request.operation))
    const services = this.observe(context.services, ({ step, seconds, result, changed }) => {
      durations_ms[step] = toMilliseconds((durations_ms[step] ?? 0) / 1000 + seconds)
      record = changed ?? (step === 'log_read' ? ((result as ResponseRecord | undefined) ?? record) : record)
      isStored ||= changed?.state === 'prepared'
      const [payer] = step === 'chain_observe' ? ((result as Observation | undefined)?.payments ?? []) : []
      if (payer) isPayerGood = payer.codeBytes === 0 && !payer.isNonceUsed && payer.balance >= amount
    })
    const reported = new Set<string>()
    const report: Report = (event, ...rest) => {
      reported.add(event)
      context.services.report(event, ...rest)
    }
    const start = performance.now()
    let outcome: Outcome | undefined
    try {
      outcome = await run({ ...context, services: { ...services, report } })
      return outcome
    } finally {
      durations_ms['total'] = toMilliseconds((performance.now() - start) / 1000)
      const isSold = outcome?.kind === 'answer'
      const has = (events: readonly string[]) => events.some((event) => reported.has(event))
      // Without an outcome the request has failed by a defect.
      const hasFailed = !isSold && (!outcome || has(OWN_FAILURES) || (isPayerGood && has(REMOTE_FAILURES)))
      if (hasFailed) this.#failedSales.push(this.#options.clock())
      if (hasFailed || (isSold && isStored)) this.#hasLastSaleFailed = hasFailed
      this.#options.onSale({
        request_id: request.requestId,
        operation: request.operation.definition.name,
        ...(outcome?.kind === 'answer'
          ? { result: isStored ? 'sold' : 'replayed' }
          : { result: 'refused', reason: reasonOf(outcome) }),
        ...(record && { payment: record.identity, state: record.state }),
        durations_ms,
      })
    }
  }
}

function observePart<Part extends object>(part: Part, note: (call: Call, cause?: unknown) => void): Part {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      const step = STEPS.get(name)
      if (step === undefined) return member.bind(target) as unknown
      return async (...given: unknown[]) => {
        const start = performance.now()
        const secondsSince = () => (performance.now() - start) / 1000
        try {
          const result: unknown = await Reflect.apply(member, target, given)
          note({ step, seconds: secondsSince(), result, changed: changedRecord(step, given, result) })
          return result
        } catch (cause) {
          note({ step, seconds: secondsSince() }, cause)
          throw cause
        }
      }
    },
  })
}

function changedRecord(step: string, [argument]: unknown[], result: unknown): ResponseRecord | undefined {
  const record = argument as ResponseRecord
  if (step === 'log_claim') return (result as Claim).kind === 'claimed' ? record : undefined
  if (step !== 'log_advance') return undefined
  const next = result as ResponseRecord | undefined
  return next?.state === record.state ? undefined : next
}

/** From a fixed set. Undefined is a defect. */
function reasonOf(refused: Refused | undefined): string {
  return refused?.refusal.reason ?? refused?.refusal.code ?? 'internal_error'
}

/** To the microsecond. */
function toMilliseconds(seconds: number): number {
  return Math.round(seconds * 1_000_000) / 1000
}
