/** Observes the payments of records, all with one call. Receipts and logs are read only for a used nonce. */
import type { ResponseRecord } from '../../store/log/record.ts'
import type { Observation } from './chain/observe.ts'
import { WrongChain } from './rpc/json-rpc.ts'
import type { NonceState } from './decide.ts'
import { recordedPayment } from '../payment/recorded-payment.ts'
import type { PaymentServices } from './services.ts'

type Observer = Pick<PaymentServices, 'chain' | 'now'>

/** One record with the observation that includes its payment. */
export interface ObservedRecord {
  observation: Observation
  /** Rejects if the chain cannot be read, or is not the chain of the record. */
  readNonce: () => Promise<NonceState>
}

/** In the order of the records. Rejects if the chain cannot be read. */
export async function observeRecords(
  observer: Observer,
  records: readonly ResponseRecord[],
  options?: Parameters<PaymentServices['chain']['observe']>[1],
): Promise<ObservedRecord[]> {
  const observation = await observer.chain.observe(records.map(toObserved), options)
  return records.map((record, index) => ({
    observation,
    readNonce: () => readNonce(observer, record, { observation, state: observation.payments[index] }),
  }))
}

function toObserved(record: ResponseRecord) {
  const { payment, requirements } = recordedPayment(record)
  const { from: payer, nonce } = payment.payload.authorization
  return { asset: requirements.asset, payer, nonce, recordedBlock: BigInt(record.from_block) }
}

async function readNonce(
  { chain, now }: Observer,
  record: ResponseRecord,
  { observation, state }: { observation: Observation; state: Observation['payments'][number] | undefined },
): Promise<NonceState> {
  const { from_block_hash: recorded } = record
  // The hash of the recorded block identifies the chain. Records of older versions have none.
  if (!state || (recorded !== undefined && state.recordedHash !== recorded)) throw new WrongChain()
  const { time, final } = observation
  if (!state.isNonceUsed) return { nonce: 'free', time, finalTime: final?.time ?? 0n }
  if (record.state === 'settled' && !mayBeFinal(record, final, now())) return { nonce: 'unread' }
  const { recordedBlock: block, ...payment } = toObserved(record)
  return chain.findUse({ ...payment, from: { block }, transaction: record.reported_transaction }, observation)
}

/** The use of the nonce of a settled record is not read until its block can be final. */
function mayBeFinal({ updated_at }: ResponseRecord, final: Observation['final'], now: Date): boolean {
  const settledAt = Date.parse(updated_at)
  // A recorded time in the future is ignored: the clock was ahead, and no block may reach that time for weeks.
  return final !== undefined && (Number(final.time) * 1000 >= settledAt || settledAt > now.getTime())
}

/** Returns undefined if the chain cannot be read, and reports the cause. */
export async function unlessUnreadable<Result>(
  { report }: Pick<PaymentServices, 'report'>,
  read: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await read()
  } catch (cause) {
    report('chain_unavailable', cause)
    return undefined
  }
}
