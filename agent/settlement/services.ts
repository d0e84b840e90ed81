/** The services of the settlement: those of the payment code, and what this process remembers of payments. */
import type { PaymentServices } from '../payments/services.ts'
import type { SettlementMemory } from './memory.ts'

export interface SettlementServices extends PaymentServices {
  memory: SettlementMemory
}
