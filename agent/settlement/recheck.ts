/** The command `payments recheck`: searches the transfer of one payment again, from a block that the operator chooses. */
import { isVoid, type ResponseRecord } from '../../store/record.ts'
import type { ResponseLog } from '../../store/responses.ts'
import type { Chain, NonceUse } from '../chain/chain.ts'
import type { Observation } from '../chain/observe.ts'
import { recordedPayment } from '../payments/recorded-payment.ts'
import { WrongChain } from '../rpc/json-rpc.ts'
import { decide, interpretEvidence, type Evidence } from './decide.ts'
import { endedAt } from './reconcile.ts'
import { unsignedStep } from './settle.ts'

/** Each continues the search where the one before ended, so that limits of a node do not end it. */
const SEARCHES_MAX = 200

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
  const { log, now, print, identity } = recheck
  const record = await log.read(identity.toLowerCase())
  if (!record) {
    print('the record does not exist')
    return false
  }
  const { payment, requirements } = recordedPayment(record)
  const { authorization } = payment.payload
  const { evidence, observation } = await search(recheck, record)
  const finding = interpretEvidence({ evidence, authorization, requirements, now: now() })
  print(`the chain shows: ${finding}`)
  if (evidence.nonce !== 'used' || (finding !== 'paid' && finding !== 'paid_final')) return false
  const { transaction } = evidence.transfer
  print(`transaction ${transaction}`)
  const settled = await advance(recheck, { record, evidence, transaction, observation })
  // The reconciler cannot do this if the recorded block is of another chain.
  if (settled) await advance(recheck, { record: settled, evidence, transaction, observation })
  const after = await log.read(record.identity)
  print(`the record was ${record.state} and is ${after?.state ?? 'removed'}`)
  return after?.state === 'settled' || after?.state === 'confirmed'
}

interface Step {
  record: ResponseRecord
  evidence: Evidence
  transaction: string
  observation: Observation
}

/** Returns the record if it is now `settled`. */
async function advance(
  { log, now }: Recheck,
  { record, evidence, transaction, observation }: Step,
): Promise<ResponseRecord | undefined> {
  const action = decide({ record, evidence, now: now(), cause: 'operator' })
  const time = action === 'confirmed' ? endedAt({ now }, observation) : { updated_at: now().toISOString() }
  const change = { ...unsignedStep(record, transaction), ...time }
  if (isVoid(record.state)) await log.reopen(record, change)
  else if (action === 'settled' || action === 'confirmed') await log.advance(record, { ...change, state: action })
  const after = await log.read(record.identity)
  return after?.state === 'settled' ? after : undefined
}

async function search(
  { chain, fromBlock }: Recheck,
  record: ResponseRecord,
): Promise<{ evidence: Evidence; observation: Observation }> {
  const { payment, requirements } = recordedPayment(record)
  const { from: payer, nonce } = payment.payload.authorization
  const { asset } = requirements
  const expected = fromBlock === undefined ? record.from_block_hash : undefined
  const recordedBlock = expected === undefined ? undefined : BigInt(record.from_block)
  const observation = await chain.observe([{ asset, payer, nonce, recordedBlock }], { withFinal: true })
  const [state] = observation.payments
  if (!state || (expected !== undefined && state.recordedHash !== expected)) throw new WrongChain()
  if (!state.isNonceUsed)
    return {
      observation,
      evidence: { nonce: 'free', time: observation.time, finalTime: observation.final?.time ?? 0n },
    }
  const from = { block: fromBlock ?? BigInt(record.from_block) }
  const query = { asset, payer, nonce, from, transaction: record.reported_transaction }
  let use: NonceUse = { nonce: 'unclear' }
  for (let searches = 0; searches < SEARCHES_MAX && use.nonce === 'unclear'; searches += 1)
    use = await chain.findUse(query, observation)
  return { observation, evidence: use }
}
