/** A facilitator without faults, whose transfers are on the ledger. */
import type { PaymentRequirements } from '@x402/core/types'
import type { AuthorizationFields } from '../payments.ts'
import type { Ledger } from './ledger.ts'

/** The body of a request to a facilitator. */
export interface SentPayment {
  paymentPayload: { payload: object }
  paymentRequirements: Pick<PaymentRequirements, 'network'>
}

export function facilitatorOf(
  ledger: Ledger,
  beforeSettlement: (authorization: AuthorizationFields) => Promise<unknown> = async () => undefined,
) {
  return {
    async verify({ payload }: SentPayment['paymentPayload']) {
      const { from: payer, value } = authorizationOf({ payload })
      const { revert, balance = Infinity } = ledger.accountOf(payer)
      if (revert !== undefined) return { isValid: false, invalidReason: 'invalid_exact_evm_payload_signature', payer }
      if (balance < Number(value)) return { isValid: false, invalidReason: 'insufficient_funds', payer }
      return { isValid: true, payer }
    },
    async settle({ payload }: SentPayment['paymentPayload'], { network }: SentPayment['paymentRequirements']) {
      const authorization = authorizationOf({ payload })
      await beforeSettlement(authorization)
      const { from: payer, value } = authorization
      const account = ledger.accountOf(payer)
      if (account.isEmptiedAfterVerify === true) account.balance = 0
      const failure = { success: false, transaction: '', network, payer }
      if ((account.balance ?? Infinity) < Number(value)) return { ...failure, errorReason: 'insufficient_funds' }
      const transfer = ledger.transfer(authorization)
      if (!transfer) return { ...failure, errorReason: 'transaction_failed' }
      return { success: true, transaction: transfer.transaction, network, payer }
    },
  }
}

export function authorizationOf({ payload }: SentPayment['paymentPayload']): AuthorizationFields {
  return (payload as { authorization: AuthorizationFields }).authorization
}
