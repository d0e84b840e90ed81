/** Measures one sale and describes it in one log line. Wraps the services of the sale, so the sale has no measuring code. */
import type { RecordState, ResponseRecord } from '../../store/log/record.ts'
import type { SaleContext, SaleRequest } from '../sale/sale-context.ts'
import type { Outcome } from '../operation/outcome.ts'
import { observeServices, type ObservedStep, type ServiceObserver } from './observed-services.ts'

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

class SaleObserver implements ServiceObserver {
  readonly seconds = new Map<string, number>()
  /** The newest version of the record that the request has stored or changed. */
  record: ResponseRecord | undefined

  onStep({ step, seconds }: Pick<ObservedStep, 'step' | 'seconds'>): void {
    this.seconds.set(step, (this.seconds.get(step) ?? 0) + seconds)
  }

  onState(record: ResponseRecord): void {
    this.record = record
  }
}

/** Runs a sale. Calls `onSale` at its end if it has stored or changed the record of its payment. */
export async function traceSale(
  { context, request, onSale }: { context: SaleContext; request: SaleRequest; onSale: (line: SaleLine) => void },
  sell: (context: SaleContext) => Promise<Outcome>,
): Promise<Outcome> {
  const observer = new SaleObserver()
  const start = performance.now()
  try {
    return await sell({ ...context, payments: observeServices(context.payments, observer) })
  } finally {
    if (observer.record) {
      observer.onStep({ step: 'total', seconds: (performance.now() - start) / 1000 })
      const { identity: payment, state } = observer.record
      const durations_ms = Object.fromEntries([...observer.seconds].map(toMilliseconds))
      onSale({ request_id: request.requestId, payment, operation: request.operation.operation, state, durations_ms })
    }
  }
}

function toMilliseconds([step, seconds]: readonly [string, number]): [string, number] {
  return [step, Math.round(seconds * 1_000_000) / 1000]
}
