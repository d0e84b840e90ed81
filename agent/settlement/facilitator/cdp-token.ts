/**
 * The tokens that Coinbase's facilitator demands: a JWT for each call, signed by the API key of the operator
 * (docs.cdp.coinbase.com, "Authentication").
 */
import { createPrivateKey, createPublicKey, randomBytes, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'

export const CDP_HOST = 'api.cdp.coinbase.com'
/** A token is used at once. */
const LIFETIME_SECONDS = 120
/** An Ed25519 key is the Base64 of its seed and its public key. */
const ED25519_BYTES = 64
const SEED_BYTES = 32

interface CdpKey {
  id: string
  algorithm: 'ES256' | 'EdDSA'
  privateKey: KeyObject
}

/** Undefined if the secret is neither a PEM key on P-256 nor an Ed25519 key of 64 bytes in Base64. */
export function parseCdpKey({ id, secret }: { id: string; secret: string }): CdpKey | undefined {
  // A PEM in a variable often has `\n` instead of line ends.
  const text = secret.trim().replaceAll(String.raw`\n`, '\n')
  try {
    if (text.startsWith('-----BEGIN')) {
      const privateKey = createPrivateKey(text)
      const isP256 = privateKey.asymmetricKeyDetails?.namedCurve === 'prime256v1'
      return isP256 ? { id, algorithm: 'ES256', privateKey } : undefined
    }
    const bytes = Buffer.from(text, 'base64')
    if (bytes.length !== ED25519_BYTES || bytes.toString('base64') !== text) return undefined
    const [d, x] = [bytes.toString('base64url', 0, SEED_BYTES), bytes.toString('base64url', SEED_BYTES)]
    const privateKey = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' })
    // A secret that was copied wrong is found at the start.
    const isPair = createPublicKey(privateKey).export({ format: 'jwk' }).x === x
    return isPair ? { id, algorithm: 'EdDSA', privateKey } : undefined
  } catch {
    return undefined
  }
}

/** The `Authorization` header of one call. */
export async function cdpAuthorization({ id, algorithm, privateKey }: CdpKey, method: 'GET' | 'POST', url: string) {
  const { host, pathname } = new URL(url)
  const now = Math.floor(Date.now() / 1000)
  const token = await new SignJWT({ uris: [`${method} ${host}${pathname}`] })
    .setProtectedHeader({ alg: algorithm, kid: id, typ: 'JWT', nonce: randomBytes(16).toString('hex') })
    .setSubject(id)
    .setIssuer('cdp')
    .setAudience(['cdp_service'])
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + LIFETIME_SECONDS)
    .sign(privateKey)
  return `Bearer ${token}`
}
