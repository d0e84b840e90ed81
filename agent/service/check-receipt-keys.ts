/**
 * Checks at each start that the key directory still has the keys of earlier receipts. With a lost or mistyped directory
 * the service would otherwise create a new key, and nobody could verify the receipts that it has sold.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { readDirectory } from '../../keys/directory.ts'
import { writeFileAtomically } from '../../store/files/atomic-file.ts'
import { StoreError } from '../../store/files/environment.ts'
import { errorCode } from '../../store/base/error-code.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { readKeyId } from '../payment/receipt/verify.ts'

/**
 * `newKeys` accepts that the keys of earlier receipts are lost.
 * @throws StoreError whose message is one line for the operator
 */
export async function checkReceiptKeys({
  log,
  dataDirectory,
  keysDirectory,
  newKeys,
}: {
  log: Pick<ResponseLog, 'newestRecords'>
  dataDirectory: string
  keysDirectory: string
  newKeys: boolean
}): Promise<void> {
  const records = await log.newestRecords()
  const used = new Set(records.flatMap(({ receipt }) => (receipt === undefined ? [] : (readKeyId(receipt) ?? []))))
  if (used.size === 0) return
  const { signing, retired, compromised } = await readDirectory(keysDirectory)
  const present = new Set([...signing, ...retired, ...compromised].map(({ publicJwk }) => publicJwk.kid))
  const accepted = await readLostKeys(dataDirectory)
  const missing = [...used].filter((kid) => !present.has(kid) && !accepted.includes(kid))
  if (missing.length === 0) return
  if (!newKeys)
    throw new StoreError(
      `The keys directory lacks the key ${missing[0]} of earlier receipts: correct KEYS_DIR, restore the keys, or start once with --new-keys`,
    )
  // The records stay the newest ones until the next sale, so later starts need the decision too.
  await writeFileAtomically(lostKeysPath(dataDirectory), JSON.stringify({ kids: [...accepted, ...missing] }))
}

const lostKeysSchema = z.strictObject({ kids: z.array(z.string()) })

const lostKeysPath = (dataDirectory: string) => join(dataDirectory, 'lost-keys.json')

async function readLostKeys(dataDirectory: string): Promise<string[]> {
  const path = lostKeysPath(dataDirectory)
  try {
    return lostKeysSchema.parse(JSON.parse(await readFile(path, 'utf8'))).kids
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return []
    throw new StoreError(`${path}: cannot be read; remove it and start once with --new-keys to write it again`, {
      cause,
    })
  }
}
