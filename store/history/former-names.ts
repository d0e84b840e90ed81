/**
 * The index of names that a number had in an earlier file and has no more, by the words before the legal form. A
 * resolution shows them, and never matches them. Made again when the normaliser has changed.
 */
import { LAYOUT_VERSION } from '../files/layout.ts'
import { parseName } from '../index/normalise-name.ts'
import { decodeVersion, type HistoryDatabase, type VersionEntry } from './history-database.ts'
import { dateOf } from './step.ts'

/** The stored name index of a snapshot depends on the normaliser too. */
const NORMALISER = String(LAYOUT_VERSION.snapshot)

interface Replaced {
  key: string
  /** The version that had the name. */
  former: { step: string; entry: Buffer }
  /** The version that follows it. */
  next: { step: string; entry: Buffer }
}

/** Adds the name of a version that is followed by a version without it. */
export function addFormerName(history: HistoryDatabase, { key, former, next }: Replaced): void {
  const name = wordsOf(decodeVersion(key, former.entry))
  if (name === undefined || name.all === wordsOf(decodeVersion(key, next.entry))?.all) return
  const last = history.stepBefore(next.step)
  if (last !== undefined) history.putFormerName(name.core, { key, step: former.step, until: dateOf(last) })
}

/** Removes the name of a version that is erased. */
export function removeFormerName(history: HistoryDatabase, key: string, entry: Buffer): void {
  const name = wordsOf(decodeVersion(key, entry))
  if (name) history.removeFormerName(name.core, key)
}

/** Whether the names are those of the normaliser of this program. */
export const hasFormerNames = (history: HistoryDatabase): boolean => history.normaliser() === NORMALISER

/** Called in the transaction of a write, before its changes. */
export function prepareFormerNames(history: HistoryDatabase): void {
  if (hasFormerNames(history)) return
  history.clearFormerNames(NORMALISER)
  for (const { key, step, entry, before } of history.versionsFrom({ start: '', end: '~' })) {
    if (before === undefined) continue
    const former = history.findVersion(key, before)
    addFormerName(history, { key, former, next: { step, entry } })
  }
}

function wordsOf(entry: VersionEntry): { core: readonly string[]; all: string } | undefined {
  if (typeof entry !== 'object') return undefined
  const { core, suffix } = parseName(entry.legal_name)
  return { core, all: `${core.join(' ')} ${suffix}` }
}
