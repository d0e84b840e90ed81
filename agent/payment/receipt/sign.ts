/** Signs a receipt as a compact JWS (RFC 7515). */
import { sign, type KeyObject } from 'node:crypto'
import { RECEIPT_ALGORITHM, RECEIPT_TYPE, type ReceiptClaims } from './claims.ts'

interface ReceiptKey {
  kid: string
  privateKey: KeyObject
}

/**
 * Signs with node:crypto. jose takes more than twice the CPU time (`bench perf`, row "receipt of a lookup, CPU"),
 * because Web Crypto moves each signature to another thread. The tests verify with jose.
 */
export function signReceipt(claims: ReceiptClaims, { kid, privateKey }: ReceiptKey): string {
  const header = { alg: RECEIPT_ALGORITHM, typ: RECEIPT_TYPE, kid }
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  // JWS uses r and s concatenated, not DER (RFC 7518, section 3.4).
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
}
