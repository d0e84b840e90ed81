/** A folder as the storage of a buyer: one file for each entry, which only its owner can read. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createFileAtomically, removeOldUnfinished, writeFileAtomically } from '../../store/files/atomic-file.ts'
import { errorCode } from '../../store/base/error-code.ts'
import { makePrivateDirectory } from '../../store/files/private-files.ts'
import type { BuyerStorage, StoredEntry } from './storage.ts'

const ENTRY_SUFFIX = '.json'

export function folderStorage(folder: string): BuyerStorage {
  const locate = (name: string) => join(folder, name)
  return {
    locate,
    read: (name) => readFile(locate(name), 'utf8').catch(ifMissing(undefined)),
    async create(name, text) {
      await makePrivateDirectory(folder)
      return createFileAtomically(locate(name), text)
    },
    async replace(name, text) {
      await makePrivateDirectory(folder)
      await writeFileAtomically(locate(name), text)
    },
    async list(prefix) {
      const names = await readdir(folder).catch(ifMissing([]))
      return names.filter((name) => name.startsWith(prefix) && name.endsWith(ENTRY_SUFFIX))
    },
    removeLeftovers: (now) => removeOldTemporaryFiles({ folder, now }),
  }
}

/** The entry of one file. */
export const fileEntry = (path: string): StoredEntry => ({
  storage: folderStorage(dirname(path)),
  name: basename(path),
})

/**
 * Removes the temporary files that crashes left in a folder of purchases, or only those of one file. A payment is sent only
 * after its temporary file has become the file of the purchase. A folder that cannot be read fails the purchase later.
 */
export async function removeOldTemporaryFiles(options: { folder: string; file?: string; now: Date }): Promise<void> {
  await removeOldUnfinished(options).catch(() => undefined)
}

/** Handles the error of a missing file or folder. */
function ifMissing<T>(value: T): (cause: unknown) => T {
  return (cause) => {
    if (errorCode(cause) === 'ENOENT') return value
    throw cause
  }
}
