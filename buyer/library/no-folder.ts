/** Stands for folder-storage.ts in bundles for browsers and Workers, which have no folders. */
import { ConfigurationError } from './purchase-error.ts'
import type { BuyerStorage } from './storage.ts'

export function openStorage(folder: string | BuyerStorage): BuyerStorage {
  if (typeof folder === 'string') throw new ConfigurationError('folder', 'must be a BuyerStorage without Node.js')
  return folder
}
