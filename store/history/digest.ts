/**
 * The digest of a journal: equal for everyone who has the same files of the same days, and the same erased numbers.
 *
 * SHA-256 over lines that end in a line feed, each RFC 8785 JSON. For each file with another snapshot id than the file
 * before, in order, `{"date","snapshot_id"}`, and then each number of which it says something else than the file
 * before, in the order of the numbers: the entry as in the snapshot id, or `{"company_number","state"}` for a number
 * that is absent or erased.
 */
import { createHash } from 'node:crypto'
import { canonicalEntry } from '../dataset/snapshot-id.ts'
import { companyNumberOf } from '../files/layout.ts'
import { decodeVersion, type HistoryDatabase } from './history-database.ts'
import { dateOf } from './step.ts'

const KEYS_END = '~'

interface HistoryLine {
  date: string
  /** Undefined for the line of the file. */
  companyNumber?: string
  text: string
}

export function* historyLines(history: HistoryDatabase): Generator<HistoryLine, void, void> {
  let previous: string | undefined
  for (const key of history.stepKeys()) {
    const date = dateOf(key)
    const snapshot_id = history.findStep(key)?.snapshot_id
    if (snapshot_id === previous) continue
    previous = snapshot_id
    yield { date, text: JSON.stringify({ date, snapshot_id }) }
    for (const { key: companyKey, entry } of history.versionsFrom({ start: key, end: key + KEYS_END }))
      yield { date, companyNumber: companyNumberOf(companyKey), text: line(companyKey, entry) }
  }
}

/** @returns `sha256:` and 64 hexadecimal digits */
export function historyDigest(history: HistoryDatabase): string {
  const hash = createHash('sha256')
  for (const { text } of historyLines(history)) hash.update(`${text}\n`)
  return `sha256:${hash.digest('hex')}`
}

function line(key: string, bytes: Buffer): string {
  const number = companyNumberOf(key)
  const entry = decodeVersion(key, bytes)
  if (entry === 'absent' || entry === 'erased') return JSON.stringify({ company_number: number, state: entry })
  return canonicalEntry(number, entry)
}
