/**
 * The signature of a wallet contract that is not deployed yet (ERC-6492): the call of a factory that deploys it, and
 * the signature that the wallet then accepts.
 */
import { parseErc6492Signature, zeroAddress, type Hex } from 'viem'

/** What a wrapped signature ends with. */
const SUFFIX = '6492'.repeat(16)

interface UnwrappedSignature {
  /** What the token gets. In lower case. */
  inner: Hex
  /** The call that deploys the wallet. Undefined if the signature is not wrapped. */
  deployment: { factory: Hex; data: Hex } | undefined
}

/** Undefined if a signature ends like a wrapped one and has another form. */
export function unwrapSignature(signature: string): UnwrappedSignature | undefined {
  const lower = signature.toLowerCase() as Hex
  if (!lower.endsWith(SUFFIX)) return { inner: lower, deployment: undefined }
  try {
    const { address: factory, data, signature: inner } = parseErc6492Signature(lower)
    const isWrapped = factory !== undefined && factory !== zeroAddress && !inner.endsWith(SUFFIX)
    return isWrapped ? { inner, deployment: { factory, data } } : undefined
  } catch {
    return undefined
  }
}
