/** Verifies a receipt against an answer and a key set, without the network and without the data of the service. */
import { base64url, calculateJwkThumbprint, decodeProtectedHeader, importJWK, jwtVerify } from 'jose'
import * as z from 'zod'
import { jsonDigest, RECEIPT_ALGORITHM, RECEIPT_TYPE, receiptClaimsSchema, type ReceiptClaims } from './claims.ts'

/** The result of one check. `detail` can contain text of the service: escape it before it is printed. */
export interface ReceiptCheck {
  name: string
  passed: boolean
  detail: string
}

interface ReceiptEvidence {
  /** The compact JWT. */
  receipt: string
  /** The parsed JSON of the answer (contract 5.9.2). */
  answer: unknown
  /** The parsed JSON of the key set. */
  keySet: unknown
}

export interface VerifiedReceipt {
  isValid: boolean
  checks: ReceiptCheck[]
  /** The claims, if the signature is valid. */
  claims?: ReceiptClaims
}

export const publicKeySchema = z.strictObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  use: z.literal('sig'),
  alg: z.literal(RECEIPT_ALGORITHM),
})

const keySetSchema = z.object({
  keys: z.array(z.unknown()),
  compromised: z.array(z.object({ kid: z.string(), compromised_at: z.iso.datetime() })).default([]),
})

/** Checks signature, answer, operation and snapshot id. Never throws for untrusted input. */
export async function verifyReceipt({ receipt, answer, keySet }: ReceiptEvidence): Promise<VerifiedReceipt> {
  const { check, claims } = await checkSignature(receipt, keySet)
  const checks = claims ? [check, ...checkContent(claims, answer)] : [check]
  return { isValid: claims !== undefined && checks.every(({ passed }) => passed), checks, ...(claims && { claims }) }
}

async function checkSignature(
  receipt: string,
  keySet: unknown,
): Promise<{ check: ReceiptCheck; claims?: ReceiptClaims }> {
  const fail = (detail: string) => ({ check: { name: 'signature', passed: false, detail } })
  const kid = readKeyId(receipt)
  if (kid === undefined) return fail('the receipt is not a signed JWT of the expected form')
  const found = await findKey(kid, keySet)
  if (found.kind === 'fault') return fail(found.detail)
  try {
    const { payload } = await jwtVerify(receipt, found.key, { algorithms: [RECEIPT_ALGORITHM], typ: RECEIPT_TYPE })
    const claims = receiptClaimsSchema.safeParse(payload).data
    if (!claims) return fail('the claims do not have the form of a payment receipt')
    const at = new Date(claims.iat * 1000).toISOString()
    return {
      check: { name: 'signature', passed: true, detail: `signed by ${claims.iss} with key ${kid} at ${at}` },
      claims,
    }
  } catch {
    return fail(`the signature of key ${kid} is wrong`)
  }
}

/** An RFC 7638 thumbprint. Another id, also one that is not text, names no key of a key set. */
const keyIdSchema = z.string().regex(/^[\w-]{43}$/)

/** The id of the key that a receipt names. Undefined unless the receipt is a compact JWS with one. */
export function readKeyId(receipt: string): string | undefined {
  const signature = receipt.split('.')[2] ?? ''
  try {
    // A decoder ignores the unused bits of the last character, so without this check several texts give the same
    // signature.
    if (base64url.encode(base64url.decode(signature)) !== signature) return undefined
    return keyIdSchema.safeParse(decodeProtectedHeader(receipt).kid).data
  } catch {
    return undefined
  }
}

type FoundKey = { kind: 'key'; key: Awaited<ReturnType<typeof importJWK>> } | { kind: 'fault'; detail: string }

/** Keys of another form are ignored, because a later version of the service may publish some. */
async function findKey(kid: string, keySet: unknown): Promise<FoundKey> {
  const fault = (detail: string) => ({ kind: 'fault', detail }) as const
  const parsed = keySetSchema.safeParse(keySet).data
  if (!parsed) return fault('the key set is not a JWK Set')
  const compromised = parsed.compromised.find((each) => each.kid === kid)
  if (compromised) return fault(`key ${kid} is marked as compromised since ${compromised.compromised_at}`)
  const jwk = parsed.keys.flatMap((each) => publicKeySchema.safeParse(each).data ?? []).find((each) => each.kid === kid)
  if (!jwk) return fault(`key ${kid} is not in the key set`)
  try {
    if ((await calculateJwkThumbprint(jwk)) !== kid)
      return fault(`key ${kid} does not have the thumbprint that its id states`)
    return { kind: 'key', key: await importJWK(jwk, RECEIPT_ALGORITHM) }
  } catch {
    return fault(`key ${kid} is not a point on P-256`)
  }
}

const answerSchema = z.looseObject({ snapshot_id: z.string(), matching_version: z.string().optional() })

function checkContent(claims: ReceiptClaims, answer: unknown): ReceiptCheck[] {
  const stated = answerSchema.safeParse(answer).data
  const digest = digestOf(answer)
  const same = (one: string | undefined, other: string | undefined) =>
    one === other ? String(one) : `the answer has ${other}, the receipt ${one}`
  const operation = claims.operation && digestOf(claims.operation)
  return [
    {
      name: 'answer',
      passed: digest === claims.answer_digest,
      detail: same(claims.answer_digest, digest),
    },
    {
      name: 'operation',
      passed: operation === undefined || operation === claims.operation_digest,
      detail: claims.operation
        ? JSON.stringify(claims.operation)
        : `${claims.operation_digest} (too long to be repeated)`,
    },
    {
      name: 'snapshot',
      passed: stated?.snapshot_id === claims.snapshot_id && stated.matching_version === claims.matching_version,
      detail: [
        same(claims.snapshot_id, stated?.snapshot_id),
        ...(claims.matching_version === undefined ? [] : [same(claims.matching_version, stated?.matching_version)]),
      ].join(', matching '),
    },
  ]
}

/** Undefined if the value has no canonical form. */
function digestOf(value: unknown): string | undefined {
  try {
    return jsonDigest(value)
  } catch {
    return undefined
  }
}
