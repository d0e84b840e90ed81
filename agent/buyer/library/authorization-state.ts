/** Asks a node whether an authorization can still be settled, with no more than `fetch`. */
import { z } from 'zod'
import { fetchDocument, type Fetch } from '../../../store/base/bounded-fetch.ts'
import type { ReservedAuthorization } from './spending.ts'

const QUANTITY = z.string().regex(/^0x[0-9a-f]{1,16}$/i)
const blockSchema = z.object({ result: z.object({ number: QUANTITY, timestamp: QUANTITY }) })
const wordSchema = z.object({ result: z.string().regex(/^0x[0-9a-f]{64}$/i) })

/** The selector of `authorizationState(address,bytes32)` (EIP-3009). */
const AUTHORIZATION_STATE = '0xe94a0102'

/**
 * Returns a function that resolves with true if a final block shows that the authorization is expired and was not
 * used. It rejects if the node does not answer.
 */
export function openAuthorizationCheck(fetch: Fetch, { url, asset }: { url: string; asset: string }) {
  const call = <T>(schema: z.ZodType<T>, method: string, params: unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return fetchDocument(fetch, url, schema, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } })
  }
  return async ({ from, nonce, validBefore }: ReservedAuthorization): Promise<boolean> => {
    const { result: block } = await call(blockSchema, 'eth_getBlockByNumber', ['finalized', false])
    if (BigInt(block.timestamp) < BigInt(validBefore)) return false
    const data = `${AUTHORIZATION_STATE}${from.slice(2).padStart(64, '0')}${nonce.slice(2)}`
    const { result } = await call(wordSchema, 'eth_call', [{ to: asset, data }, block.number])
    return BigInt(result) === 0n
  }
}
