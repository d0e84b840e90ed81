/** Records in memory, by identity. */
import { LRUCache } from 'lru-cache'
import type { ResponseRecord } from './record.ts'

/** Of all bodies, which are from one kilobyte to one megabyte long. */
const CHARACTERS_MAX = 4 * 1024 * 1024
/** For the other members of a record. */
const MEMBERS_CHARACTERS = 4 * 1024

export function openRecordCache<Cached extends { readonly record: ResponseRecord }>(): LRUCache<string, Cached> {
  const sizeCalculation = ({ record }: Cached) => record.body.length + MEMBERS_CHARACTERS
  return new LRUCache<string, Cached>({ maxSize: CHARACTERS_MAX, sizeCalculation })
}
