/** Records of the response log, as complete as a sale's, for tests that need one in a certain state. */
import { DEPLOYMENTS, requirementsOf, termsOf } from '../../agent/payments/terms.ts'
import { isFinal, type ResponseRecord } from '../../store/record.ts'
import type { ResponseLog } from '../../store/responses.ts'

export const BUYER = '0x00000000000000000000000000000000000000b1'
export const RECEIVER = '0x00000000000000000000000000000000000000c2'

const terms = termsOf('testnet', RECEIVER)

export function aRecord(change: Partial<ResponseRecord> & { nonce?: string; validBefore?: string }): ResponseRecord {
  const { nonce = `0x${'11'.repeat(32)}`, validBefore = '2000000000', ...rest } = change
  const requirements = requirementsOf(terms, 'lookup')
  const authorization = { from: BUYER, to: RECEIVER, value: requirements.amount, validAfter: '0', validBefore, nonce }
  return {
    identity: `${terms.network}/${DEPLOYMENTS.testnet.asset}/${BUYER}/${nonce}`.toLowerCase(),
    payment_hash: 'a'.repeat(64),
    operation_digest: 'b'.repeat(64),
    state: 'prepared',
    attempt: 1,
    payment: { x402Version: 2, accepted: requirements, payload: { signature: `0x${'22'.repeat(65)}`, authorization } },
    requirements: { ...requirements },
    from_block: '0',
    snapshot_id: `sha256:${'c'.repeat(64)}`,
    body: '{"company":"é"}',
    payment_response: null,
    prepared_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    ...rest,
  }
}

/** Puts a record of any state into a log, by way of the state before its last where that one is final. */
export async function hold(log: ResponseLog, record: ResponseRecord): Promise<void> {
  const { state, updated_at } = record
  if (!isFinal(state)) return void (await log.claim(record))
  const begun = { ...record, state: state === 'confirmed' ? 'settled' : 'prepared' } as const
  await log.claim(begun)
  await log.advance(begun, { state, updated_at })
}
