/** Complete records of the response log, for tests that need one in a certain state. */
import { DEPLOYMENTS, buildRequirements, buildTerms } from '../../agent/payment/terms.ts'
import type { ResponseRecord } from '../../store/log/record.ts'
import { isFinal } from '../../store/log/states.ts'
import { listOpen, type ResponseLog } from '../../store/log/responses.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { priceOf } from './operations.ts'

export const BUYER = '0x00000000000000000000000000000000000000b1'
export const RECEIVER = '0x00000000000000000000000000000000000000c2'

const terms = buildTerms('testnet', RECEIVER, OPERATIONS)

export function makeRecord(change: Partial<ResponseRecord> & { nonce?: string; validBefore?: string }): ResponseRecord {
  const { nonce = `0x${'11'.repeat(32)}`, validBefore = '2000000000', ...rest } = change
  const requirements = buildRequirements(terms, priceOf('lookup'))
  const authorization = { from: BUYER, to: RECEIVER, value: requirements.amount, validAfter: '0', validBefore, nonce }
  return {
    identity: `${terms.network}/${DEPLOYMENTS.testnet.asset}/${BUYER}/${nonce}`.toLowerCase(),
    payment_hash: 'a'.repeat(64),
    operation_digest: 'b'.repeat(64),
    operation: { operation: 'lookup', input: { company_number: '73848' } },
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

/** Stores a record of any state. A record cannot be claimed in a final state, so it is claimed before and advanced. */
export async function storeRecord(log: ResponseLog, record: ResponseRecord): Promise<void> {
  const { state, updated_at } = record
  if (!isFinal(state) && state !== 'refused') return void (await log.claim(record))
  const before = { confirmed: 'settled', refused: 'unknown', rejected: 'prepared', expired: 'prepared' } as const
  const claimed = { ...record, state: before[state as keyof typeof before] }
  await log.claim(claimed)
  await log.advance(claimed, { state, updated_at })
}

export async function openIdentities(log: ResponseLog): Promise<string[]> {
  const identities: string[] = []
  for await (const identity of listOpen(log)) identities.push(identity)
  return identities
}

/** All open records, and the final ones. */
export async function recordsOf(log: ResponseLog): Promise<ResponseRecord[]> {
  const final = await log.list({ kind: 'final', max: 1_000 })
  const identities = [...(await openIdentities(log)), ...final.identities]
  const records = await Promise.all(identities.map((identity) => log.read(identity)))
  return records.filter((record) => record !== undefined)
}
