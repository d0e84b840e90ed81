/** Step 3: answers a payment with a record from that record. Rate limit, readiness and newer snapshots do not apply. */
import { isOpen, type ResponseRecord } from '../../store/log/record.ts'
import { WEIGHTS, type Client } from './limits/address-budget.ts'
import { refused } from '../operation/outcome.ts'
import { isBoundTo, type SentPayment } from '../payment/binding.ts'
import { addMissingReceipt } from '../settlement/receipts.ts'
import type { PaymentServices } from '../settlement/services.ts'
import type { WaitLimit } from '../settlement/settle.ts'
import { outcomeUnknown, recordOutcome, unknownIfFailed, type Sold } from './record-outcome.ts'
import { mayChange, retry } from './retry.ts'
import type { SaleContext } from './sale-context.ts'

type ReplayContext = Pick<SaleContext, 'payments' | 'paymentMutex'>

interface ReplayRequest {
  client: Client
  waitLimit: WaitLimit
}

/** Undefined if the payment has no record. Only a payment that has a record is hashed here. */
export function replay(
  context: ReplayContext,
  payment: SentPayment,
  request: ReplayRequest,
): Promise<Sold | undefined> {
  const { payments } = context
  const { budget } = request.client
  return unknownIfFailed(payments.report, async () => {
    const record = await payments.log.read(payment.identity, payment.id).catch((cause: unknown) => {
      // A failed read of the log costs the client nothing.
      budget.refund()
      throw cause
    })
    if (!record) return undefined
    // The payment id is not on chain. Without one, an observer can rebuild the payload and guess what it has bought.
    if (record.payment_id !== payment.id || !isBoundTo(record, payment))
      return budget.raiseTo(WEIGHTS.guess) ?? refused({ code: 'payment_replay_conflict' })
    return answer(context, record, payment, request)
  })
}

/** The right payload costs nothing but for the size of the answer. */
function answer(
  { payments, paymentMutex }: ReplayContext,
  record: ResponseRecord,
  payment: SentPayment,
  { client, waitLimit }: ReplayRequest,
): Sold | Promise<Sold> {
  client.budget.refund()
  client.connection.keepOpen()
  if (!mayChange(record)) {
    const limited = client.budget.chargeReplay(Buffer.byteLength(record.body))
    return limited ?? replayRecord(payments, record, { payment, waitLimit })
  }
  // The request that settles the payment changes the record. Requests that wait for it read the record again.
  return paymentMutex.run<Sold>(
    record.payment_hash,
    async (hasWaited) => {
      const current = hasWaited ? await payments.log.read(record.identity) : undefined
      return replayRecord(payments, current ?? record, { payment, waitLimit })
    },
    () => outcomeUnknown(),
  )
}

/** For a request whose units are counted already. An answer gives them back, and costs its size like any replay. */
export async function replayToWaiting(
  payments: PaymentServices,
  record: ResponseRecord,
  { client, ...request }: { client: Client; payment: SentPayment; waitLimit: WaitLimit },
): Promise<Sold> {
  const sold = await replayRecord(payments, record, request)
  if (sold.kind !== 'answer') return sold
  client.budget.refund()
  return client.budget.chargeReplay(Buffer.byteLength(sold.body)) ?? sold
}

/** Answers from the record, after an observation of the chain if its outcome may change. */
async function replayRecord(
  payments: PaymentServices,
  record: ResponseRecord,
  { payment, waitLimit }: { payment: SentPayment; waitLimit: WaitLimit },
): Promise<Sold> {
  if (!isBoundTo(record, payment)) return refused({ code: 'payment_replay_conflict' })
  const { record: current, waitMs } = await retry(payments, record, waitLimit)
  if (isOpen(current.state)) return outcomeUnknown(waitMs)
  return recordOutcome(await addMissingReceipt(payments, current, payment.bind().operation))
}
