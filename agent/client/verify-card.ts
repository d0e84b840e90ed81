/** Checks an agent card's signature the plain way: RFC 8785 bytes, the key from the JWKS, ES256. */
import type { webcrypto } from 'node:crypto'
import { z } from 'zod'
import { canonicalJson } from '../operation/canonical.ts'

const signedCardSchema = z.looseObject({
  signatures: z.array(z.strictObject({ protected: z.string(), signature: z.string() })).min(1),
})
const headerSchema = z.object({ alg: z.literal('ES256'), kid: z.string(), jku: z.url() })
const keysSchema = z.object({
  keys: z.array(z.looseObject({ kid: z.string(), kty: z.literal('EC'), crv: z.literal('P-256') })),
})

const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/**
 * The key id that a card is validly signed by, or undefined. The keys are taken from the service's own JWKS and from
 * nowhere else, whatever the signature's header says.
 */
export async function verifyCard(baseUrl: string, fetch: typeof globalThis.fetch): Promise<string | undefined> {
  const jku = `${baseUrl}/.well-known/jwks.json`
  const read = async (url: string): Promise<unknown> => (await fetch(url, { redirect: 'error' })).json()
  const { signatures, ...card } = signedCardSchema.parse(await read(`${baseUrl}/.well-known/agent-card.json`))
  const { keys } = keysSchema.parse(await read(jku))
  const payload = Buffer.from(canonicalJson(card)).toString('base64url')
  for (const signature of signatures) {
    const header = headerSchema.safeParse(JSON.parse(Buffer.from(signature.protected, 'base64url').toString('utf8')))
    const key = header.success && header.data.jku === jku ? keys.find(({ kid }) => kid === header.data.kid) : undefined
    if (!key) continue
    const publicKey = await crypto.subtle.importKey('jwk', key as webcrypto.JsonWebKey, ES256, false, ['verify'])
    const signed = Buffer.from(`${signature.protected}.${payload}`)
    const bytes = Buffer.from(signature.signature, 'base64url')
    if (await crypto.subtle.verify(ES256, publicKey, bytes, signed)) return key.kid
  }
  return undefined
}
