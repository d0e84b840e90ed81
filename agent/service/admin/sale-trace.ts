/**
 * Measures one request with a payment and describes it in one log line. Wraps the services of the sale, so the sale has
 * no measuring code.
 */
import type { RecordState, ResponseRecord } from '../../../store/log/record.ts'
import type { SaleContext, SaleRequest } from '../../sale/sale-context.ts'
import type { Outcome, Refused } from '../../operation/outcome.ts'
import { observe, type ServiceObserver } from './observed-services.ts'

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

/** Runs a sale, and calls `onSale` at its end. */
export async function traceSale(
  { context, request, onSale }: { context: SaleContext; request: SaleRequest; onSale: (line: SaleLine) => void },
  sell: (context: SaleContext) => Promise<Outcome>,
): Promise<Outcome> {
  const durations_ms: Record<string, number> = {}
  /** The newest version of the record that the request has read, stored or changed. */
  let record: ResponseRecord | undefined
  let isStored = false
  const observer: ServiceObserver = {
    onStep({ step, seconds }) {
      durations_ms[step] = toMilliseconds((durations_ms[step] ?? 0) / 1000 + seconds)
    },
    onRead: (found) => void (record = found),
    onState(changed) {
      record = changed
      isStored ||= changed.state === 'prepared'
    },
  }
  const start = performance.now()
  let outcome: Outcome | undefined
  try {
    const { log, facilitator, chain, ...others } = context.payments
    const observed = {
      log: observe(log, observer),
      facilitator: observe(facilitator, observer),
      chain: observe(chain, observer),
    }
    outcome = await sell({ ...context, payments: { ...others, ...observed } })
    return outcome
  } finally {
    durations_ms['total'] = toMilliseconds((performance.now() - start) / 1000)
    onSale({
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

/** From a fixed set. Undefined is a defect. */
function reasonOf(refused: Refused | undefined): string {
  if (!refused?.quote) return refused?.refusal.code ?? 'internal_error'
  return (JSON.parse(refused.quote.json) as { error: string }).error
}

/** To the microsecond. */
function toMilliseconds(seconds: number): number {
  return Math.round(seconds * 1_000_000) / 1000
}
