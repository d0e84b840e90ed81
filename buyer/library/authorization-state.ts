/** Asks a node whether an authorization was settled or still can be, with no more than `fetch`. */
import * as z from 'zod'
import { fetchDocument, type Fetch } from '../../base/bounded-fetch.ts'

/** The members of an EIP-3009 authorization that tell whether it can still be settled. */
export interface SignedAuthorization {
  from: string
  nonce: string
  /** Seconds. */
  validBefore: string
}

const QUANTITY = z.string().regex(/^0x[0-9a-f]{1,16}$/i)
const blockSchema = z.object({ result: z.object({ number: QUANTITY, timestamp: QUANTITY }) })
const wordSchema = z.object({ result: z.string().regex(/^0x[0-9a-f]{64}$/i) })

/** The selector of `authorizationState(address,bytes32)` (EIP-3009). */
const AUTHORIZATION_STATE = '0xe94a0102'

/** The selector of `balanceOf(address)` (ERC-20). */
const BALANCE_OF = '0x70a08231'

/**
 * What the chain says about an authorization. `used`: it was settled or cancelled. `ended`: a final block after its end
 * shows it unused, so it never can be. `unfunded`: it is unused, and the account has less than its amount. `open`: it
 * can be settled.
 */
export type AuthorizationState = 'used' | 'ended' | 'unfunded' | 'open'

export type ReadAuthorization = (authorization: SignedAuthorization, amount?: number) => Promise<AuthorizationState>

/** Returns a function that rejects if the node does not answer. */
export function openAuthorizationCheck(
  fetch: Fetch,
  { url, asset }: { url: string; asset: string },
): ReadAuthorization {
  const call = <T>(schema: z.ZodType<T>, method: string, params: unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return fetchDocument(fetch, url, schema, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } })
  }
  const read = async (data: string, block: string) => {
    const { result } = await call(wordSchema, 'eth_call', [{ to: asset, data }, block])
    return BigInt(result)
  }
  return async ({ from, nonce, validBefore }, amount = 0) => {
    const { result: block } = await call(blockSchema, 'eth_getBlockByNumber', ['finalized', false])
    const hasEnded = BigInt(block.timestamp) >= BigInt(validBefore)
    const account = from.slice(2).padStart(64, '0')
    const isUsed = await read(`${AUTHORIZATION_STATE}${account}${nonce.slice(2)}`, hasEnded ? block.number : 'latest')
    if (isUsed !== 0n) return 'used'
    if (hasEnded) return 'ended'
    return (await read(`${BALANCE_OF}${account}`, 'latest')) < BigInt(amount) ? 'unfunded' : 'open'
  }
}
