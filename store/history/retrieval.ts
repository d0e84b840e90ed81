/** Records retrievals of the register in the journal. */
import { storedEntries } from '../dataset/snapshot.ts'
import { createReserveCheck, FREE_BYTES_MIN } from '../files/disk-space.ts'
import { snapshotFolder } from '../files/layout.ts'
import { HistoryDatabase } from './history-database.ts'
import { recordFile, type Recording } from './record.ts'
import { dateOf, stepKeyOf, type StepFacts } from './step.ts'

interface RetrievalsToRecord {
  dataDirectory: string
  /** Their snapshots are in the data directory. */
  retrievals: readonly StepFacts[]
}

/**
 * A retrieval of the records that the journal has for its day adds nothing. Resolves with the recording of the last
 * one.
 */
export async function recordRetrievals({ dataDirectory, retrievals }: RetrievalsToRecord): Promise<Recording> {
  const history = new HistoryDatabase(dataDirectory, { readOnly: false })
  try {
    createReserveCheck(history.folder, FREE_BYTES_MIN.import)()
    let recording: Recording = { kind: 'known' }
    for (const facts of retrievals) {
      const entries = storedEntries(snapshotFolder(dataDirectory, facts.snapshot_id))
      recording = isOfKnownDay(history, facts) ? { kind: 'known' } : recordFile(history, facts, entries)
    }
    return recording
  } finally {
    await history.close()
  }
}

/** Whether this file, or the one before it, is of the same day and has the same records. */
function isOfKnownDay(history: HistoryDatabase, { snapshot_id, source }: StepFacts): boolean {
  const step = stepKeyOf(source)
  if (history.findStep(step)?.snapshot_id === snapshot_id) return true
  const before = history.stepBefore(step)
  return (
    before !== undefined && dateOf(before) === dateOf(step) && history.findStep(before)?.snapshot_id === snapshot_id
  )
}
