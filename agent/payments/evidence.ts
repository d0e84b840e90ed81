/** Reads the evidence of a record's payment from the chain. */
import type { ResponseRecord } from '../../store/record.ts'
import type { AuthorizationEvidence } from './chain.ts'
import { recordedPayment } from './recorded-payment.ts'
import type { PaymentServices } from './services.ts'

/** Undefined if the chain cannot be read. The outcome then stays unknown. */
export async function tryReadEvidence(
  { chain, report }: PaymentServices,
  record: ResponseRecord,
): Promise<AuthorizationEvidence | undefined> {
  const { payment, requirements } = recordedPayment(record)
  try {
    return await chain.evidence({
      asset: requirements.asset,
      authorization: payment.payload.authorization,
      fromBlock: BigInt(record.from_block),
      fromBlockHash: record.from_block_hash,
      transaction: record.reported_transaction,
    })
  } catch (cause) {
    report('chain_unavailable', cause)
    return undefined
  }
}
