/** Reads the private key of the buyer from its file. */
import { open } from 'node:fs/promises'
import { createFileAtomically } from '../../store/files/atomic-file.ts'
import { errorCode } from '../../base/error-code.ts'
import { decodeUtf8 } from '../../base/read-body.ts'
import { readFileUpTo } from '../../store/files/bounded-read.ts'
import { isPrivateKey, KEY_FILE_BYTES_MAX } from '../../agent/payment/accounts.ts'
import { findOpenMode, isMountedSecret } from '../../store/files/private-files.ts'

/**
 * The file may be a pipe, such as that of a shell's process substitution.
 * @throws an error that names the file, if other users can read it or if it has no key
 */
export async function readPrivateKey(path: string): Promise<`0x${string}`> {
  await using file = await open(path).catch((cause: unknown) => {
    if (errorCode(cause) === 'ENOENT')
      throw new Error(`The key file ${path} does not exist. "client address --new --key-file FILE" creates one`, {
        cause,
      })
    return undefined
  })
  const stats = await file?.stat()
  if (stats?.isDirectory()) throw new Error(`${path} is a directory: name the key file`)
  const fault = stats && !isMountedSecret(path, stats) ? findOpenMode(stats.mode) : undefined
  if (fault !== undefined) throw new Error(`${path} ${fault}: run chmod 600 ${JSON.stringify(path)}`)
  const bytes = file && (await readFileUpTo(file, KEY_FILE_BYTES_MAX).catch(() => undefined))
  const key = (bytes && decodeUtf8(bytes)?.trim()) ?? ''
  if (!isPrivateKey(key)) throw new Error(`${path} must hold a private key: 0x and 64 hex digits`)
  return key
}

/** @throws if the file exists, which may hold the key of an account with money */
export async function createPrivateKey(path: string): Promise<void> {
  const { generatePrivateKey } = await import('viem/accounts')
  if (!(await createFileAtomically(path, `${generatePrivateKey()}\n`))) throw new Error(`${path} exists already`)
}
