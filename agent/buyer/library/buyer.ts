/**
 * A `fetch` that pays, with a folder as its storage. `portable.ts` is the same with another storage, and without
 * Node.js.
 */
import { folderStorage } from './folder-storage.ts'
import {
  createBuyer as createPortableBuyer,
  resetSpending as resetPortableSpending,
  type Buyer,
  type BuyerOptions as PortableBuyerOptions,
} from './portable.ts'
import type { BuyerStorage } from './storage.ts'

export {
  PurchaseError,
  type Buyer,
  type BuyerStorage,
  type PurchaseErrorCode,
  type ReservedAuthorization,
  type ServiceAnswer,
} from './portable.ts'

export interface BuyerOptions extends Omit<PortableBuyerOptions, 'storage'> {
  /** The folder, or another storage, of the purchases and of the spending of each day. Keep it secret. */
  folder: string | BuyerStorage
}

export function createBuyer({ folder, ...options }: BuyerOptions): Buyer {
  return createPortableBuyer({ ...options, storage: toStorage(folder) })
}

/** Begins the spending of the current day again: the payments of the day up to now no longer count. */
export function resetSpending(folder: string | BuyerStorage, now = new Date()): Promise<void> {
  return resetPortableSpending(toStorage(folder), now)
}

const toStorage = (folder: string | BuyerStorage) => (typeof folder === 'string' ? folderStorage(folder) : folder)
