/** Stands for folder-storage.ts in bundles for browsers and Workers, which have no folders. */
import type { BuyerStorage } from './storage.ts'

export function openStorage(folder: string | BuyerStorage): BuyerStorage {
  if (typeof folder === 'string') throw new Error('Without Node.js, folder must be a BuyerStorage')
  return folder
}
