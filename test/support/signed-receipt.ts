/** Signed receipts of invented purchases, for tests of their verification. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { jsonDigest, type ReceiptClaims } from '../../agent/payment/receipt/claims.ts'
import { signReceipt } from '../../agent/payment/receipt/sign.ts'

export interface TestKey {
  kid: string
  privateKey: KeyObject
  jwk: Record<string, string>
}

export async function makeReceiptKey(): Promise<TestKey> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const kid = await calculateJwkThumbprint({ kty: 'EC', crv: 'P-256', x, y })
  return { kid, privateKey, jwk: { kty: 'EC', crv: 'P-256', x, y, kid, use: 'sig', alg: 'ES256' } }
}

export const keySetOf = (...keys: TestKey[]) => ({ keys: keys.map(({ jwk }) => jwk), compromised: [] as object[] })

const SNAPSHOT_ID = `sha256:${'5a'.repeat(32)}`

/** Answers with text outside of ASCII, escapes, numbers, nulls and empty values. */
export const ANSWERS: Record<string, { snapshot_id: string; matching_version?: string }> = {
  lookup: {
    company: { company_number: '0012', legal_name: 'TÚSÚR "\\\u2028" 𝔸 TEORANTA', eircode: null, lines: ['', 'é'] },
    snapshot_id: SNAPSHOT_ID,
  } as never,
  search: {
    candidates: [
      { score: 850, signals: { name_similarity: 0.8461538461538461, strict_name_exact: false, eircode_exact: null } },
      { score: 1000, signals: { name_similarity: 1, address_contains: true } },
    ],
    empty: {},
    small: 0.001,
    snapshot_id: SNAPSHOT_ID,
    matching_version: 'match-9',
  } as never,
  resolve: {
    status: 'no_match',
    match: null,
    candidates: [],
    snapshot_id: SNAPSHOT_ID,
    matching_version: 'x',
  } as never,
}

const address = (byte: string) => `0x${byte.repeat(20)}`

export function claimsFor(answer: { snapshot_id: string; matching_version?: string }): ReceiptClaims {
  const operation = { operation: 'lookup', input: { company_number: '0012' } }
  const { snapshot_id, matching_version } = answer
  return {
    iss: 'https://companies.example',
    iat: 1_700_000_000,
    jti: 'eip155:84532/0x/0x/0x',
    operation,
    operation_digest: jsonDigest(operation),
    answer_digest: jsonDigest(answer),
    snapshot_id,
    ...(matching_version !== undefined && { matching_version }),
    payment: {
      network: 'eip155:84532',
      asset: address('aa'),
      payer: address('b1'),
      pay_to: address('c2'),
      amount: '1000',
      nonce: `0x${'11'.repeat(32)}`,
      transaction: `0x${'ab'.repeat(32)}`,
    },
  }
}

export function receiptFor(key: TestKey, answer: { snapshot_id: string }, change: Partial<ReceiptClaims> = {}) {
  return signReceipt({ ...claimsFor(answer), ...change }, key)
}

/** A text with one byte replaced, as a program reads it. */
export function flipByte(text: string, at: number, mask: number): string {
  const bytes = Buffer.from(text)
  bytes[at] = (bytes[at] ?? 0) ^ mask
  return bytes.toString()
}
