/** Reconciles a record with what an observation of the chain shows of its payment, and with nothing else. */
import { isVoid, type ResponseRecord } from '../../store/record.ts'
import type { Observation } from '../chain/observe.ts'
import type { SettlementServices } from './services.ts'
import { decide, type Cause, type Evidence } from './decide.ts'
import type { Denial } from './memory.ts'
import { observeRecords, type ObservedRecord } from './observe.ts'
import { advanceOrReload, reload, settleAgain, settledStep, type Patience } from './settle.ts'

export interface Reconciliation {
  cause: Cause
  /** How long a request may wait for a settlement to appear. The reconciler does not wait. */
  patience?: Patience | undefined
}

/** Observes one record and reconciles it. Returns the current record. */
export async function reconcile(
  payments: SettlementServices,
  record: ResponseRecord,
  reconciliation: Reconciliation,
): Promise<ResponseRecord> {
  const [observed] = (await observeRecords(payments, [record], { withFinal: true })) ?? []
  return observed ? reconcileObserved(payments, record, observed, reconciliation) : record
}

/** Reconciles a record that was observed. */
export async function reconcileObserved(
  payments: SettlementServices,
  record: ResponseRecord,
  { observation, evidence: read }: ObservedRecord,
  reconciliation: Reconciliation,
): Promise<ResponseRecord> {
  payments.memory.noteObserved(record.identity)
  const evidence = await read()
  return evidence ? apply(payments, record, { observation, evidence, ...reconciliation }) : record
}

interface Applied extends Reconciliation {
  observation: Observation
  evidence: Evidence
}

async function apply(payments: SettlementServices, record: ResponseRecord, applied: Applied): Promise<ResponseRecord> {
  const { evidence, observation, cause, patience } = applied
  const { now, memory, report } = payments
  const action = decide({ record, evidence, now: now(), cause })
  if (evidence.nonce !== 'unclear' && !isDenial(action)) memory.forgetDenial(record.identity)
  switch (action) {
    case 'wait':
      return record
    case 'settle':
      return settleAgain(payments, record, patience)
    case 'refused':
      return advanceOrReload(payments, record, { state: action })
    case 'reopen': {
      if (!(await isDenied(payments, record, applied, action))) return record
      report('settlement_not_on_chain', `state ${evidence.nonce}`)
      const unknown = await advanceOrReload(payments, record, { state: 'unknown', payment_response: null })
      return unknown.state === 'unknown' ? apply(payments, unknown, applied) : unknown
    }
    case 'settled':
    case 'confirmed': {
      // The header names the transaction on chain, which may differ from the one that the facilitator named.
      if (evidence.nonce !== 'used') throw new Error('The evidence of a settlement has no transfer')
      const { transaction } = evidence.transfer
      const step = { ...(await settledStep(payments, record, transaction)), reported_transaction: transaction }
      if (isVoid(record.state)) return reopenVoid(payments, record, step)
      const end = action === 'confirmed' ? endedAt(payments, observation) : {}
      return advanceOrReload(payments, record, { ...step, state: action, ...end })
    }
    case 'rejected':
    case 'expired': {
      if (!(await isDenied(payments, record, applied, action))) return record
      const end = { state: action, ...endedAt(payments, observation) }
      if (record.state !== 'settling') return advanceOrReload(payments, record, end)
      const unknown = await advanceOrReload(payments, record, { state: 'unknown' })
      return unknown.state === 'unknown' ? advanceOrReload(payments, unknown, end) : unknown
    }
  }
}

function isDenial(action: string): action is Denial {
  return action === 'reopen' || action === 'rejected' || action === 'expired'
}

/**
 * An end that costs the buyer needs two observations that agree: of two nodes, or of one node with a minute and a new final
 * block between them.
 */
async function isDenied(
  payments: SettlementServices,
  record: ResponseRecord,
  { observation, cause }: Applied,
  denial: Denial,
): Promise<boolean> {
  const { chain, memory, now } = payments
  const { node, time, final } = observation
  if (chain.nodeCount === 1) return final !== undefined && memory.isConfirmed(record.identity, { denial, time, final })
  const [other] = (await observeRecords(payments, [record], { withFinal: true, otherThan: node })) ?? []
  if (!other || other.observation.node === node) return false
  const evidence = await other.evidence()
  return evidence !== undefined && decide({ record, evidence, now: now(), cause }) === denial
}

async function reopenVoid(
  payments: SettlementServices,
  record: ResponseRecord,
  step: Awaited<ReturnType<typeof settledStep>>,
): Promise<ResponseRecord> {
  payments.report('denied_settlement_found', `was ${record.state}`)
  const change = { ...step, updated_at: payments.now().toISOString() }
  return (await payments.log.reopen(record, change)) ?? reload(payments, record)
}

/** The retention counts from the later of clock and chain, so that a wrong clock cannot shorten it. */
export function endedAt({ now }: Pick<SettlementServices, 'now'>, { time }: { time: bigint }): { updated_at: string } {
  return { updated_at: new Date(Math.max(now().getTime(), Number(time) * 1000)).toISOString() }
}
