/**
 * Compares the token for Coinbase's facilitator with that of Coinbase's SDK: equal members but for the random and the
 * times.
 */
import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { CDP_HOST, cdpAuthorization, parseCdpKey } from '../../agent/settlement/facilitator/cdp-token.ts'

const ID = 'organizations/o/apiKeys/k'
const URL_OF_CALL = `https://${CDP_HOST}/platform/v2/x402/settle`

/** @param sdkToken runs the SDK with these variables. @returns the algorithms whose tokens differ */
export async function compareTokens(
  sdkToken: (environment: Record<string, string>) => Promise<string>,
): Promise<string[]> {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const secrets = {
    EdDSA: Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]).toString('base64'),
    ES256: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
  const differing: string[] = []
  for (const [algorithm, secret] of Object.entries(secrets)) {
    const key = parseCdpKey({ id: ID, secret })
    if (!key) throw new Error('The key cannot be read')
    const own = (await cdpAuthorization(key, 'POST', URL_OF_CALL)).replace(/^Bearer /, '')
    const theirs = await sdkToken({ API_KEY_ID: ID, API_KEY_SECRET: secret, RESOURCE: URL_OF_CALL })
    if (shapeOf(own) !== shapeOf(theirs)) differing.push(algorithm)
  }
  return differing
}

function shapeOf(token: string): string {
  const { nonce, ...header } = decodeProtectedHeader(token) as { nonce: string }
  const { iat = 0, nbf = 0, exp = 0, ...claims } = decodeJwt(token)
  const members = { ...header, ...claims, nonceLength: nonce.length, lifetime: exp - iat, delay: nbf - iat }
  return JSON.stringify(Object.entries(members).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
