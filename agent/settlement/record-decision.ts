/**
 * Writes what was decided to the record. Every write is a compare-and-set, because another process may change the
 * record.
 */
import type { RecordChange, ResponseRecord } from '../../store/log/record.ts'
import { isVoid, mayFollow, type RecordState } from '../../store/log/states.ts'
import { toMs } from './chain/clock.ts'
import type { Observation } from './chain/observe.ts'
import type { NonceState } from './decide.ts'
import { settledResponse } from '../payment/recorded-payment.ts'
import { receiptFor } from './receipts.ts'
import type { SettlementServices } from './services.ts'

type Recorder = Pick<SettlementServices, 'log' | 'now' | 'report' | 'signReceipt'>

type RecordStep = Omit<RecordChange, 'updated_at'> & { state: RecordState; updated_at?: string }

export interface Decision {
  action: 'refused' | 'settled' | 'confirmed' | 'rejected' | 'expired'
  nonceState: NonceState
  observation: Observation
}

/** Records what the chain has decided. Returns the current record. */
export function recordDecision(
  recorder: Recorder,
  record: ResponseRecord,
  { action, nonceState, observation }: Decision,
): Promise<ResponseRecord> {
  // The retention counts from the later of clock and chain, so that a wrong clock cannot shorten it.
  const endedAt = Math.max(recorder.now().getTime(), toMs(observation.time))
  const end = { state: action, updated_at: new Date(endedAt).toISOString() }
  switch (action) {
    case 'refused':
    case 'rejected':
    case 'expired':
      return advanceOrReload(recorder, record, end)
    case 'settled':
    case 'confirmed': {
      if (nonceState.nonce !== 'used') throw new Error('A settlement was decided without a transfer')
      // The header names the transaction on chain, which may differ from the one that the facilitator named.
      const { transaction } = nonceState.transfer
      const change = { reported_transaction: transaction, ...(action === 'confirmed' && end) }
      return recordPaid(recorder, record, transaction, change)
    }
  }
}

/** Records a success from every state that allows it. */
export async function recordPaid(
  recorder: Recorder,
  record: ResponseRecord,
  transaction: string,
  change: Partial<RecordChange>,
): Promise<ResponseRecord> {
  const payment_response = settledResponse(record, transaction)
  const step = { state: 'settled', payment_response, ...change } as const
  if (isVoid(record.state)) recorder.report('denied_settlement_found', `was ${record.state}`)
  let current = record
  // Another process can change the record meanwhile. If it made it void, only a later observation counts.
  while (mayFollow(current.state, step.state) && isVoid(current.state) === isVoid(record.state))
    // A receipt that is stored meanwhile may have been delivered, so it stays.
    current = await advanceOrReload(recorder, current, {
      ...step,
      receipt: await receiptFor(recorder, current, transaction),
    })
  return current
}

/** Advances a record, or returns the current record if another process changed it first. */
export async function advanceOrReload(
  recorder: Recorder,
  from: ResponseRecord,
  step: RecordStep,
): Promise<ResponseRecord> {
  return (await advance(recorder, from, step)) ?? reload(recorder, from)
}

/** Undefined if the record has changed since `from` was read. */
export function advance(
  { log, now }: Recorder,
  from: ResponseRecord,
  step: RecordStep,
): Promise<ResponseRecord | undefined> {
  return log.advance(from, { updated_at: now().toISOString(), ...step })
}

export async function reload({ log }: Recorder, { identity }: ResponseRecord): Promise<ResponseRecord> {
  const record = await log.read(identity)
  if (!record) throw new Error('The record is no longer in the response log')
  return record
}
