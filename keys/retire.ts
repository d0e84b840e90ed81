/** Retires a superseded key: the file keeps the public part and gets the time of retirement, the private part is erased. */
import { writeKeyFile } from './key-file.ts'
import type { SupersededKey } from './lifecycle.ts'

/** @throws KeyError if the file cannot be written */
export async function retireKey(directory: string, { key, retiredAtSeconds }: SupersededKey): Promise<void> {
  await writeKeyFile(directory, { ...key.publicJwk, iat: key.madeAtSeconds, retired_at: retiredAtSeconds })
}
