/** Reads the private key of the buyer from its file. */
import { readFile, stat } from 'node:fs/promises'
import { findOpenMode } from '../../store/files/private-files.ts'

/** @throws an error that names the file, if others can read it or if it holds no key */
export async function readPrivateKey(path: string): Promise<`0x${string}`> {
  const stats = await stat(path).catch(() => undefined)
  const fault = stats && findOpenMode(stats.mode)
  if (fault !== undefined) throw new Error(`${path} ${fault}: run chmod 600 ${JSON.stringify(path)}`)
  const key = (await readFile(path, 'utf8').catch(() => '')).trim()
  if (!/^0x[0-9a-fA-F]{64}$/.test(key)) throw new Error(`${path} must hold a private key: 0x and 64 hex digits`)
  return key as `0x${string}`
}
