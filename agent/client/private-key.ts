/** Reads the private key of the buyer from its file. */
import { readFile } from 'node:fs/promises'

export async function readPrivateKey(path: string): Promise<`0x${string}`> {
  const key = (await readFile(path, 'utf8').catch(() => '')).trim()
  if (!/^0x[0-9a-fA-F]{64}$/.test(key)) throw new Error(`${path} must hold a private key: 0x and 64 hex digits`)
  return key as `0x${string}`
}
