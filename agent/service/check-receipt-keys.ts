/**
 * Checks that the keys of earlier receipts are known, at the start and while the service runs. Without their public
 * keys, nobody could verify the receipts that the service has sold.
 */
import { readDirectory } from '../../keys/directory.ts'
import { StoreError } from '../../store/files/environment.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { readKeyId } from '../payment/receipt/verify.ts'

type ReceiptLog = Pick<ResponseLog, 'newestRecords' | 'publicKeys' | 'announceKey'>

/** The ids of keys that have signed the newest receipts, and that the log does not have. */
export async function findLostKeys(log: Pick<ReceiptLog, 'newestRecords' | 'publicKeys'>): Promise<string[]> {
  const records = await log.newestRecords()
  const used = new Set(records.flatMap(({ receipt }) => (receipt === undefined ? [] : (readKeyId(receipt) ?? []))))
  for (const { kid } of await log.publicKeys()) used.delete(kid)
  return [...used]
}

/**
 * Refuses a start that has lost the keys of earlier receipts. Call it before keys are created or announced. With
 * `acceptedAt`, lost keys are listed as compromised since then, because their receipts can no longer be verified.
 * @throws StoreError whose message is one line for the operator
 */
export async function checkReceiptKeys({
  log,
  keysDirectory,
  acceptedAt,
}: {
  log: ReceiptLog
  keysDirectory: string
  acceptedAt?: Date
}): Promise<void> {
  const own = new Set((await readDirectory(keysDirectory)).map(({ publicJwk }) => publicJwk.kid))
  const lost = (await findLostKeys(log)).filter((kid) => !own.has(kid))
  if (lost.length > 0 && !acceptedAt)
    throw new StoreError(
      `Neither the response log nor DATA_DIR/keys has the key ${lost[0]} of earlier receipts: restore the keys, or start once with --new-keys`,
    )
  const compromised_at = acceptedAt?.toISOString() ?? null
  for (const kid of lost) await log.announceKey({ kid, jwk: {}, compromised_at })
}
