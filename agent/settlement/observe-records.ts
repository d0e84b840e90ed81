/**
 * Observes the payments of records. `observeRecords` reads their nonces with one call; `findPayments` finds settled
 * ones in the logs with a few.
 */
import type { Hex } from 'viem'
import type { ResponseRecord } from '../../store/log/record.ts'
import { unlessUnreadable } from './chain/reader.ts'
import { blockAfter } from './chain/blocks.ts'
import { CLOCK_ERROR_SECONDS_MAX } from './chain/clock.ts'
import type { Observation, ObserveOptions } from './chain/observe.ts'
import { REORG_BLOCKS_MAX } from './chain/view.ts'
import { WrongChain } from './rpc/nodes.ts'
import { nonceKey, transferCall } from './chain/token.ts'
import { awaitsRefusal, isPayment, type NonceState } from './decide.ts'
import type { TransferAuthorization } from '../payment/headers.ts'
import { recordedPayment } from '../payment/recorded-payment.ts'
import { ACCEPTED_SECONDS_MAX } from '../payment/terms.ts'
import type { SettlementServices } from './services.ts'

type Observer = Pick<SettlementServices, 'chain'>

/** One record with the observation that includes its payment. */
export interface ObservedRecord {
  observation: Observation
  isNonceUsed: boolean
  /** Code, balance and nonce of the payer. Absent if the transfer was found in the logs. */
  payer?: Observation['payments'][number] | undefined
  /** Rejects if the chain cannot be read, or is not the chain of the record. */
  readNonce: () => Promise<NonceState>
}

/** What an observation of records asks. If one alone awaits its refusal, its transfer is tried. */
export function questionOf(records: readonly ResponseRecord[], options: ObserveOptions = {}) {
  const [first] = records
  const isTried = first && records.length === 1 && awaitsRefusal(first)
  const trial = isTried ? { transfer: transferCall(recordedPayment(first).payment.payload) } : {}
  return { payments: records.map(toObserved), options: { ...options, ...trial } }
}

/** A record in an observation of it, or of several records at this index. */
export function observedIn(
  observer: Observer,
  record: ResponseRecord,
  observation: Observation,
  index = 0,
): ObservedRecord {
  const payer = observation.payments[index]
  if (!payer) throw new Error('An observation has no state of its payment')
  const readNonce = () => readNonceOf(observer, record, { observation, payer })
  return { observation, isNonceUsed: payer.isNonceUsed, payer, readNonce }
}

/** In the order of the records. Rejects if the chain cannot be read. */
export async function observeRecords(
  observer: Observer,
  records: readonly ResponseRecord[],
  options?: ObserveOptions,
): Promise<ObservedRecord[]> {
  const question = questionOf(records, options)
  const observation = await observer.chain.observe(question.payments, question.options)
  return records.map((record, index) => observedIn(observer, record, observation, index))
}

/**
 * Finds the transfers of records in the logs of a node, all with a few calls. A record without a found transfer has no
 * entry.
 */
export async function findPayments(
  { chain, report }: Pick<SettlementServices, 'chain' | 'report'>,
  records: readonly ResponseRecord[],
  options: ObserveOptions,
): Promise<Map<ResponseRecord, ObservedRecord>> {
  const observation = await chain.observe([], options)
  const queries = records.map((record) => toQuery(record, observation))
  const uses = (await unlessUnreadable({ report }, () => chain.findTransfers(queries, observation))) ?? []
  return new Map(
    records.flatMap((record, index) => {
      const read = uses[index]
      return read ? [[record, { observation, isNonceUsed: true, readNonce: read }] as const] : []
    }),
  )
}

function toQuery(record: ResponseRecord, observation: Observation) {
  return {
    ...recordedNonce(record),
    receiver: recordedPayment(record).requirements.payTo.toLowerCase() as Hex,
    // The newest block before the settlement. If a reorganisation moves the transfer below it, the record is observed
    // alone.
    fromBlock: BigInt(record.from_block) + REORG_BLOCKS_MAX,
    toBlock: blockAfter(BigInt(Math.ceil(Date.parse(record.updated_at) / 1000)), observation),
  }
}

function recordedNonce(record: ResponseRecord) {
  const { payment, requirements } = recordedPayment(record)
  return nonceKey(requirements.asset, payment.payload.authorization)
}

function toObserved(record: ResponseRecord) {
  return { ...recordedNonce(record), recordedBlock: BigInt(record.from_block) }
}

async function readNonceOf(
  { chain }: Observer,
  record: ResponseRecord,
  { observation, payer }: { observation: Observation; payer: Observation['payments'][number] },
): Promise<NonceState> {
  const { from_block_hash: hash } = record
  const isOwnChain = hash === undefined || payer.recordedHash === hash
  const { time, final, trial } = observation
  if (!payer.isNonceUsed) {
    if (!isOwnChain) throw new WrongChain()
    return { nonce: 'free', time, finalTime: final?.time ?? 0n, trial, isCodeless: payer.codeBytes === 0 }
  }
  const { requirements, payment } = recordedPayment(record)
  const { authorization } = payment.payload
  const from = isOwnChain
    ? { block: BigInt(record.from_block) }
    : { time: earliestSettlement(authorization, observation) }
  const nonce = { ...recordedNonce(record), from, transaction: record.reported_transaction }
  const use = await chain.findUse(nonce, observation)
  // The block was recorded from a node of another chain. The payment on this one counts nevertheless, and nothing else.
  if (!isOwnChain && !isPayment(use, { authorization, requirements })) throw new WrongChain()
  return use
}

/** The time in seconds before which a payment cannot have been settled, as far as its block shows. */
export function earliestSettlement({ validBefore }: TransferAuthorization, { time }: Observation): bigint {
  const last = BigInt(validBefore) < time ? BigInt(validBefore) : time
  return last - BigInt(ACCEPTED_SECONDS_MAX + CLOCK_ERROR_SECONDS_MAX)
}

/** Whether a reported transaction has failed in a block. False if the chain cannot be read. */
export async function isShownFailed(
  { chain, report }: Pick<SettlementServices, 'chain' | 'report'>,
  transaction: string,
  observation: Observation,
): Promise<boolean> {
  return (await unlessUnreadable({ report }, () => chain.hasFailed(transaction, observation))) ?? false
}
