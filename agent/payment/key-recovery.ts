/**
 * Recovery of a public key from a signature (secp256k1): in native code where its binding loads, else in WebAssembly,
 * which takes four times as long (`bench perf`, row "paid lookup"). Both are libsecp256k1.
 */
import { createRequire } from 'node:module'

interface KeyRecovery {
  kind: 'native' | 'WebAssembly'
  /** Returns the uncompressed key of 65 bytes. Throws or returns null if there is none. */
  recover: (digest: Uint8Array, signature: Uint8Array, recoveryId: 0 | 1) => Uint8Array | null
}

interface NativeBinding {
  ecdsaRecover(signature: Uint8Array, recoveryId: number, digest: Uint8Array, compressed: boolean): Uint8Array
}

/** Without the main module of the package, which would load a slower library if the binding fails. */
export function openNativeRecovery(): KeyRecovery {
  const require = createRequire(import.meta.url)
  const binding = require('secp256k1/bindings.js') as NativeBinding
  return {
    kind: 'native',
    recover: (digest, signature, recoveryId) => binding.ecdsaRecover(signature, recoveryId, digest, false),
  }
}

export async function openWasmRecovery(): Promise<KeyRecovery> {
  const { recover } = await import('tiny-secp256k1')
  return {
    kind: 'WebAssembly',
    recover: (digest, signature, recoveryId) => recover(digest, signature, recoveryId, false),
  }
}

async function openKeyRecovery(): Promise<KeyRecovery> {
  try {
    return openNativeRecovery()
  } catch {
    // No binding for this platform.
    return openWasmRecovery()
  }
}

export const keyRecovery = await openKeyRecovery()
