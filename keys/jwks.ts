/** The body of `/.well-known/jwks.json`: the public keys that check our signatures, as a JWK Set (RFC 7517 section 5). */
import { publicPart, type PublicJwk } from './key-file.ts'

export type JwksBody = { readonly keys: readonly PublicJwk[] }

/** The JWK Set of a keyring, the signing key first. Members are picked by name, so a private one cannot slip in. */
export function jwksBody(keyring: { readonly publicKeys: readonly PublicJwk[] }): JwksBody {
  return { keys: keyring.publicKeys.map(publicPart) }
}
