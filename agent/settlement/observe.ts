/** Observes the payments of records, all with one call. Receipts and logs are read only for a used nonce. */
import type { ResponseRecord } from '../../store/record.ts'
import type { Observation } from '../chain/observe.ts'
import { recordedPayment } from '../payments/recorded-payment.ts'
import type { SettlementServices } from './services.ts'
import { WrongChain } from '../rpc/json-rpc.ts'
import type { Evidence } from './decide.ts'

type Observer = Pick<SettlementServices, 'chain' | 'report' | 'now'>

/** One record with the observation that includes its payment. */
export interface ObservedRecord {
  observation: Observation
  /** Undefined if the chain cannot be read, or is not the chain of the record. */
  evidence: () => Promise<Evidence | undefined>
}

/** Undefined if the chain cannot be read. Otherwise in the order of the records. */
export async function observeRecords(
  services: Observer,
  records: readonly ResponseRecord[],
  options: { withFinal: boolean; otherThan?: number | undefined },
): Promise<ObservedRecord[] | undefined> {
  const { chain, report } = services
  try {
    const observation = await chain.observe(records.map(toObserved), options)
    return records.map((record, index) => ({
      observation,
      evidence: () =>
        readEvidence(services, { record, observation, index }).catch((cause: unknown) => {
          report('chain_unavailable', cause)
          return undefined
        }),
    }))
  } catch (cause) {
    report('chain_unavailable', cause)
    return undefined
  }
}

function toObserved(record: ResponseRecord) {
  const { payment, requirements } = recordedPayment(record)
  const { from: payer, nonce } = payment.payload.authorization
  return { asset: requirements.asset, payer, nonce, recordedBlock: BigInt(record.from_block) }
}

interface Observed {
  record: ResponseRecord
  observation: Observation
  index: number
}

async function readEvidence({ chain, now }: Observer, { record, observation, index }: Observed): Promise<Evidence> {
  const state = observation.payments[index]
  const { from_block_hash: recorded } = record
  // The hash of the recorded block identifies the chain. Records of older versions have none.
  if (!state || (recorded !== undefined && state.recordedHash !== recorded)) throw new WrongChain()
  const { time, final } = observation
  if (!state.isNonceUsed) return { nonce: 'free', time, finalTime: final?.time ?? 0n }
  if (record.state === 'settled' && !mayBeFinal(record, final, now())) return { nonce: 'unread' }
  const { asset, payer, nonce } = toObserved(record)
  const from = { block: BigInt(record.from_block) }
  return chain.findUse({ asset, payer, nonce, from, transaction: record.reported_transaction }, observation)
}

/** Until its block can be final, a used nonce changes nothing for a settled record. */
function mayBeFinal({ updated_at }: ResponseRecord, final: Observation['final'], now: Date): boolean {
  const settledAt = Date.parse(updated_at)
  // A clock that was ahead may have stamped a time that no block reaches for weeks. It does not count.
  return final !== undefined && (Number(final.time) * 1000 >= settledAt || settledAt > now.getTime())
}
