/** The command `payments recheck`: searches the transfer of one payment again, from a block that the operator chooses. */
import { isVoid, TRANSITIONS, type RecordState, type ResponseRecord } from '../../store/record.ts'
import type { ResponseLog } from '../../store/responses.ts'
import type { AuthorizationEvidence, Chain } from './chain.ts'
import { interpretEvidence } from './finding.ts'
import { endedAt } from './reconcile.ts'
import { recordedPayment } from './recorded-payment.ts'
import { unsignedStep } from './settle.ts'

/** Each continues the search where the one before ended, so that limits of a node do not end it. */
const READINGS_MAX = 200

interface Recheck {
  log: ResponseLog
  chain: Chain
  now: () => Date
  print: (line: string) => void
  identity: string
  /** The first block of the search. By default the recorded one, whose hash the node must have. */
  fromBlock?: bigint | undefined
}

/**
 * Makes the record `settled` if the transfer is there, and `confirmed` if its block is final. Changes nothing otherwise. Returns
 * whether the transfer is there.
 */
export async function recheckPayment(recheck: Recheck): Promise<boolean> {
  const { log, chain, now, print, identity, fromBlock } = recheck
  const record = await log.read(identity.toLowerCase())
  if (!record) {
    print('the record does not exist')
    return false
  }
  const { payment, requirements } = recordedPayment(record)
  const { authorization } = payment.payload
  const evidence = await readUntilClear(chain, record, fromBlock)
  const finding = interpretEvidence({ evidence, authorization, requirements, now: now() })
  print(`the chain shows: ${finding}`)
  if (evidence.nonce !== 'used' || (finding !== 'paid' && finding !== 'paid_final')) return false
  const { transaction } = evidence.transfer
  print(`transaction ${transaction}`)
  const settled = await recordSettled(recheck, record, transaction)
  if (settled && evidence.isFinal) await recordConfirmed(recheck, settled, transaction)
  const after = await log.read(record.identity)
  print(`the record was ${record.state} and is ${after?.state ?? 'removed'}`)
  return after?.state === 'settled' || after?.state === 'confirmed'
}

/** Returns the record if it is now `settled`. */
async function recordSettled(
  { log, now }: Recheck,
  record: ResponseRecord,
  transaction: string,
): Promise<ResponseRecord | undefined> {
  const change = { ...unsignedStep(record, transaction), updated_at: now().toISOString() }
  const canSettle = (TRANSITIONS[record.state] as readonly RecordState[]).includes('settled')
  if (isVoid(record.state)) await log.reopen(record, change)
  else if (canSettle) await log.advance(record, change)
  const after = await log.read(record.identity)
  return after?.state === 'settled' ? after : undefined
}

/** The reconciler cannot do this if the recorded block is of another chain. */
async function recordConfirmed({ log, chain, now }: Recheck, record: ResponseRecord, transaction: string) {
  const step = unsignedStep(record, transaction)
  await log.advance(record, { ...step, state: 'confirmed', ...endedAt({ now }, await chain.progress()) })
}

async function readUntilClear(
  chain: Chain,
  record: ResponseRecord,
  fromBlock: bigint | undefined,
): Promise<AuthorizationEvidence> {
  const { payment, requirements } = recordedPayment(record)
  const query = {
    asset: requirements.asset,
    authorization: payment.payload.authorization,
    fromBlock: fromBlock ?? BigInt(record.from_block),
    fromBlockHash: fromBlock === undefined ? record.from_block_hash : undefined,
    transaction: record.reported_transaction,
  }
  for (let readings = 1; readings < READINGS_MAX; readings += 1) {
    const evidence = await chain.evidence(query)
    if (evidence.nonce !== 'unclear') return evidence
  }
  return chain.evidence(query)
}
