/** The settled payments of a response log, as rows of a CSV for the accounts. */
import { decodeSettlement } from '../../agent/payment/headers.ts'
import { recordedPayment } from '../../agent/payment/recorded-payment.ts'
import { toUsdc } from '../../agent/payment/terms.ts'
import type { ResponseRecord } from '../../store/log/record.ts'
import { listOpen, type ResponseLog } from '../../store/log/responses.ts'
import { isPaid } from '../../store/log/states.ts'

export const SOLD_COLUMNS = ['sold_at', 'operation', 'amount_usdc', 'network', 'payer', 'transaction', 'state']

/** Final records that are read, of which a list has the newest. */
const FINAL_MAX = 1_000_000

/**
 * Yields each payment once.
 * @param since `YYYY-MM-DD`, in UTC
 * @throws an error after the last row if records could not be read, or if the log has too many
 */
export async function* listSold(log: ResponseLog, since: string): AsyncGenerator<string[]> {
  const listed = new Set<string>()
  let damaged = 0
  const read = (identity: string) => log.read(identity).catch(() => void (damaged += 1))
  for await (const identity of listOpen(log)) {
    const record = listed.has(identity) ? undefined : await read(identity)
    if (!record || !isSoldSince(record, since)) continue
    listed.add(identity)
    yield toRow(record)
  }
  // Read later, so that a payment that becomes final meanwhile is in one of the lists.
  const { identities } = await log.list({ kind: 'final', max: FINAL_MAX })
  let isComplete = identities.length < FINAL_MAX
  for (const identity of identities) {
    if (listed.has(identity)) continue
    const record = await read(identity)
    // The order is that in which they became final, which is after their sales.
    if (record && record.updated_at < since) {
      isComplete = true
      break
    }
    if (record && isSoldSince(record, since)) yield toRow(record)
  }
  if (damaged > 0) throw new Error(`${damaged} records cannot be read, and are not listed`)
  if (!isComplete) throw new Error(`Only the newest ${FINAL_MAX} payments are listed: name a later day`)
}

const isSoldSince = ({ state, prepared_at: soldAt }: ResponseRecord, since: string) => isPaid(state) && soldAt >= since

/** Its cells have no commas. */
function toRow(record: ResponseRecord): string[] {
  const { prepared_at: soldAt, state, payment_response: response } = record
  const { payment, requirements } = recordedPayment(record)
  const { operation } = record.operation as { operation: string }
  const { transaction } = decodeSettlement(response ?? '') as { transaction: string }
  const amount = toUsdc(requirements.amount).toFixed(6)
  return [soldAt, operation, amount, requirements.network, payment.payload.authorization.from, transaction, state]
}
