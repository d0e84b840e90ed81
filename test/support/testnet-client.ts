/** A Python that runs testnet-client.py. Where eth-account is not installed, a module of the tests stands in for it. */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from 'mocha'
import { rootFile } from '../programs/compile-contracts.ts'
import { findPython } from './python.ts'
import { needProgram } from './programs.ts'

const STAND_IN = rootFile('test/support/python/eth_account.py')
const PACKAGES = ['httpx', 'cryptography']

export interface ClientPython {
  python: string
  /** The files that `prepare` adds. */
  files: string[]
  /** Python finds modules beside the program first. */
  prepare: (directory: string) => Promise<void>
}

/** For a `before` hook. */
export async function findClientPython(context: Context): Promise<ClientPython> {
  const complete = await findPython(['eth_account', ...PACKAGES])
  if (complete !== undefined) return { python: complete, files: [], prepare: async () => undefined }
  const found = await findPython(['ecdsa', 'Cryptodome', ...PACKAGES])
  const python = needProgram(context, 'httpx, ecdsa and Cryptodome', found)
  return {
    python,
    files: ['eth_account.py'],
    prepare: (directory) => copyFile(STAND_IN, join(directory, 'eth_account.py')),
  }
}
