/**
 * The command `payments recheck`: searches the transfer of one payment again, from a block that the operator chooses.
 */
import type { ResponseRecord } from '../../store/log/record.ts'
import { observeRecords, type ObservedRecord } from '../../agent/settlement/observe-records.ts'
import { recordedPayment } from '../../agent/payment/recorded-payment.ts'
import { decide, interpretNonce } from '../../agent/settlement/decide.ts'
import { recordDecision } from '../../agent/settlement/record-decision.ts'
import type { PaymentServices } from '../../agent/settlement/services.ts'

/** Each continues the search where the one before ended, so that limits of a node do not end it. */
const SEARCHES_MAX = 200

interface Recheck extends Pick<PaymentServices, 'log' | 'chain' | 'now' | 'report'> {
  print: (line: string) => void
  identity: string
  /** The first block of the search. By default the recorded one, whose hash the node must have. */
  fromBlock?: bigint | undefined
}

/**
 * Makes the record `settled` if the transfer is there, and `confirmed` if its block is final. Changes nothing
 * otherwise. Returns whether the transfer is there.
 */
export async function recheckPayment(recheck: Recheck): Promise<boolean> {
  const { log, chain, now, print, identity, fromBlock } = recheck
  const record = await log.read(identity.toLowerCase())
  if (!record) {
    print('the record does not exist')
    return false
  }
  // Without the hash of the recorded block, only a comparison of all nodes shows that they belong to one chain.
  if (fromBlock !== undefined) for (let node = 0; node < chain.nodeCount; node += 1) await chain.observe([], { node })
  const [observed] = await observeRecords(recheck, [searchedFrom(record, fromBlock)], { withFinal: true })
  if (!observed) throw new Error('An observation has no state of its payment')
  const nonceState = await searchUse(observed)
  const { payment, requirements } = recordedPayment(record)
  const { authorization } = payment.payload
  const chainStatus = interpretNonce({ nonceState, authorization, requirements, now: now() })
  print(`the chain shows: ${chainStatus}`)
  if (nonceState.nonce !== 'used' || (chainStatus !== 'paid' && chainStatus !== 'paid_final')) return false
  print(`transaction ${nonceState.transfer.transaction}`)
  let current = record
  // First to `settled`, then to `confirmed`. The reconciler cannot do this if the recorded block is of another chain.
  for (const step of ['settled', 'confirmed'] as const) {
    const action = decide({ record: current, nonceState, now: now(), cause: 'request' })
    if (action === step)
      current = await recordDecision(recheck, current, { action, nonceState, observation: observed.observation })
  }
  print(`the record was ${record.state} and is ${current.state}`)
  return current.state === 'settled' || current.state === 'confirmed'
}

/** A record whose transfer is searched in any state. A block that the operator chose does not identify the chain. */
function searchedFrom(record: ResponseRecord, fromBlock: bigint | undefined): ResponseRecord {
  const { from_block_hash: _, ...rest } = record
  const searched = fromBlock === undefined ? record : { ...rest, from_block: String(fromBlock) }
  return { ...searched, state: 'unknown' }
}

async function searchUse({ readNonce }: ObservedRecord) {
  let nonceState = await readNonce()
  for (let searches = 1; searches < SEARCHES_MAX && nonceState.nonce === 'unclear'; searches += 1)
    nonceState = await readNonce()
  return nonceState
}
