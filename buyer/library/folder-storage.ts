/** A folder as the storage of a buyer: one file for each entry, which only its owner can read. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createFileAtomically, removeOldUnfinished, writeFileAtomically } from '../../store/files/atomic-file.ts'
import { ifMissing } from '../../base/error-code.ts'
import { makePrivateDirectory } from '../../store/files/private-files.ts'
import type { BuyerStorage, PurchaseEntry } from './storage.ts'

const ENTRY_SUFFIX = '.json'

/** Imported as `#open-storage`, which without Node.js is that of no-folder.ts (`imports` in package.json). */
export const openStorage = (folder: string | BuyerStorage): BuyerStorage =>
  typeof folder === 'string' ? folderStorage(folder) : folder

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
    // A payment is sent only after its temporary file has become the file of the purchase.
    removeLeftovers: (now) => removeOldUnfinished({ folder, now }).catch(() => undefined),
  }
}

export const fileEntry = (path: string): PurchaseEntry => ({
  storage: folderStorage(dirname(path)),
  name: basename(path),
})
