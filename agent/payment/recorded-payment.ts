/** The payment of a record. */
import type { PaymentRequirements } from '@x402/core/types'
import type { ResponseRecord } from '../../store/log/record.ts'
import type { Payment } from './headers.ts'

/** The payment and requirements of a record. Not validated, because the checksum shows that the service wrote them. */
export function recordedPayment({ payment, requirements }: ResponseRecord) {
  return { payment: payment as Payment, requirements: requirements as PaymentRequirements }
}
