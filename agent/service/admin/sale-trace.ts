/**
 * Measures one sale and describes it in one log line. Wraps the services of the sale, so the sale has no measuring
 * code.
 */
import type { RecordState, ResponseRecord } from '../../../store/log/record.ts'
import type { SaleContext, SaleRequest } from '../../sale/sale-context.ts'
import type { Outcome } from '../../operation/outcome.ts'
import { observeServices, type ServiceObserver } from './observed-services.ts'

/** The fields of the log line `sale`: no signature, no body and no text of the query (contract 14.9). */
export interface SaleLine {
  request_id: string | undefined
  /** The payment identity. */
  payment: string
  operation: string
  state: RecordState
  /** `total` and each step, in milliseconds. A step that was repeated has the sum. */
  durations_ms: Record<string, number>
}

/** Runs a sale. Calls `onSale` at its end if it has stored or changed the record of its payment. */
export async function traceSale(
  { context, request, onSale }: { context: SaleContext; request: SaleRequest; onSale: (line: SaleLine) => void },
  sell: (context: SaleContext) => Promise<Outcome>,
): Promise<Outcome> {
  const durations_ms: Record<string, number> = {}
  /** The newest version of the record that the request has stored or changed. */
  let record: ResponseRecord | undefined
  const observer: ServiceObserver = {
    onStep({ step, seconds }) {
      durations_ms[step] = toMilliseconds((durations_ms[step] ?? 0) / 1000 + seconds)
    },
    onState(changed) {
      record = changed
    },
  }
  const start = performance.now()
  try {
    return await sell({ ...context, payments: observeServices(context.payments, observer) })
  } finally {
    if (record) {
      durations_ms['total'] = toMilliseconds((performance.now() - start) / 1000)
      const { identity: payment, state } = record
      const operation = request.operation.definition.name
      onSale({ request_id: request.requestId, payment, operation, state, durations_ms })
    }
  }
}

/** To the microsecond. */
function toMilliseconds(seconds: number): number {
  return Math.round(seconds * 1_000_000) / 1000
}
