/**
 * Where a buyer keeps its purchases and its spending. Every entry is a text with a name.
 * @example
 * const entries = new Map<string, string>() // lost at the end of the process, so only for tests
 * const storage: BuyerStorage = {
 *   read: async (name) => entries.get(name),
 *   create: async (name, text) => !entries.has(name) && Boolean(entries.set(name, text)),
 *   replace: async (name, text) => void entries.set(name, text),
 *   list: async (prefix) => [...entries.keys()].filter((name) => name.startsWith(prefix)),
 *   locate: (name) => name,
 * }
 */
export interface BuyerStorage {
  /** Undefined if there is no such entry. */
  read(name: string): Promise<string | undefined>
  /** Creates an entry. Returns false, and changes nothing, if it exists. It is durable when this resolves. */
  create(name: string, text: string): Promise<boolean>
  /** Creates or replaces an entry. It is durable when this resolves. */
  replace(name: string, text: string): Promise<void>
  /** The names of all entries that begin with `prefix`. */
  list(prefix: string): Promise<string[]>
  /** The name of an entry in messages to the user, for example a path. */
  locate(name: string): string
  /** Removes what crashes have left. Called before the first purchase. */
  removeLeftovers?(now: Date): Promise<void>
}

export interface PurchaseEntry {
  storage: BuyerStorage
  name: string
}

export const locationOf = ({ storage, name }: PurchaseEntry): string => storage.locate(name)
