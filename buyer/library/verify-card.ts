/** Verifies the signature of an agent card: JWS over RFC 8785 JSON, ES256, with a key from the JWKS. */
import { createLocalJWKSet, generalVerify, type GeneralVerifyGetKey, type JSONWebKeySet } from 'jose'
import * as z from 'zod'
import { canonicalJson } from '../../base/canonical.ts'
import { FREE_PATHS } from '../../agent/operation/endpoints.ts'
import { fetchDocument, type Fetch } from '../../base/bounded-fetch.ts'
import { fetchKeySet } from './verify-purchase.ts'

const signedCardSchema = z.looseObject({
  signatures: z.array(z.strictObject({ protected: z.string(), signature: z.string() })).min(1),
})

/** `other_service`: a signature, which was not checked, names the key set of another service. */
export type CardCheck =
  { kind: 'signed'; kid: string } | { kind: 'other_service'; origin: string } | { kind: 'unsigned' }

/** Only the JWKS of the same service is accepted as `jku`. */
export async function verifyCard(baseUrl: string, fetch: Fetch): Promise<CardCheck> {
  const jku = `${baseUrl}${FREE_PATHS.jwks}`
  const { signatures, ...card } = await fetchDocument(fetch, `${baseUrl}${FREE_PATHS.agentCard}`, signedCardSchema)
  const findKey = createLocalJWKSet((await fetchKeySet(fetch, jku)) as JSONWebKeySet)
  let named: unknown
  const getKey: GeneralVerifyGetKey = (header, jws) => {
    if (header?.kid === undefined || header['jku'] !== jku) {
      named = header?.['jku']
      throw new Error('The signature names another key set')
    }
    return findKey(header, jws)
  }
  const payload = Buffer.from(canonicalJson(card)).toString('base64url')
  const verified = generalVerify({ payload, signatures }, getKey, { algorithms: ['ES256'] })
  const kid = await verified.then(
    ({ protectedHeader }) => protectedHeader?.kid,
    () => undefined,
  )
  if (kid !== undefined) return { kind: 'signed', kid }
  const origin = typeof named === 'string' && URL.canParse(named) ? new URL(named).origin : baseUrl
  return origin === baseUrl ? { kind: 'unsigned' } : { kind: 'other_service', origin }
}
