/** Signs a receipt as a compact JWS. */
import { CompactSign, type CryptoKey } from 'jose'
import { RECEIPT_ALGORITHM, RECEIPT_TYPE, type ReceiptClaims } from './claims.ts'

interface ReceiptKey {
  kid: string
  privateKey: CryptoKey
}

const encoder = new TextEncoder()

/** `SignJWT` of jose copies and checks the claims first, which is slower (benchmark row `receipt`). */
export function signReceipt(claims: ReceiptClaims, { kid, privateKey }: ReceiptKey): Promise<string> {
  return new CompactSign(encoder.encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: RECEIPT_ALGORITHM, typ: RECEIPT_TYPE, kid })
    .sign(privateKey)
}
