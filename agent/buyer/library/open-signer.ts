/** The signer of a key: the one that the caller gives, or that of a private key. */
import type { Signer } from './signer.ts'

export async function signerOf(key: `0x${string}` | Signer): Promise<Signer> {
  if (typeof key !== 'string') return key
  const { createSigner } = await import('./private-key-signer.ts')
  return createSigner(key)
}
