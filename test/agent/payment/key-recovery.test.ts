/** Native and WebAssembly recovery agree, for valid signatures and for values that no signature has. */
import { createRequire } from 'node:module'
import { expect } from 'chai'
import fc from 'fast-check'
import { keyRecovery, openNativeRecovery, openWasmRecovery } from '../../../agent/payment/key-recovery.ts'

const ORDER = Buffer.from('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141', 'hex')
/** WebAssembly takes 0.3 ms per recovery. */
const RUNS = 2_000

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const scalar = fc.oneof(
  bytes(32),
  fc.constantFrom(new Uint8Array(32), new Uint8Array(32).fill(0xff), new Uint8Array(ORDER)),
)
const id = fc.constantFrom(0 as const, 1 as const)

type RecoverKey = ReturnType<typeof openNativeRecovery>['recover']

function recover(one: RecoverKey, ...args: Parameters<RecoverKey>): string {
  try {
    return Buffer.from(one(...args) ?? []).toString('hex')
  } catch {
    return ''
  }
}

describe('key recovery', () => {
  it('uses the native binding where it loads', () => {
    expect(keyRecovery.kind).to.equal('native')
  })

  it('is equal in native code and in WebAssembly for any bytes', async () => {
    const [native, wasm] = [openNativeRecovery(), await openWasmRecovery()]
    fc.assert(
      fc.property(bytes(32), scalar, scalar, id, (digest, r, s, recoveryId) => {
        const signature = Buffer.concat([r, s])
        expect(recover(native.recover, digest, signature, recoveryId)).to.equal(
          recover(wasm.recover, digest, signature, recoveryId),
        )
      }),
      { numRuns: RUNS },
    )
  })

  it('does not install elliptic, which secp256k1 declares', () => {
    const { name } = createRequire(import.meta.url)('elliptic/package.json') as { name: string }
    expect(name).to.equal('node-gyp-build')
  })
})
