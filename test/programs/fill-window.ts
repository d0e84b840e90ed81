/** Puts entries into the rate-limit window of a data directory until a write fails. Prints a report as JSON. */
import { setTimeout as sleep } from 'node:timers/promises'
import { windowEntryKey } from '../../store/layout.ts'
import { NO_SLOTS, openWindow } from '../../store/window.ts'

/** More entries than the test's file size limit allows. */
const ENTRIES_MAX = 100_000
/** Long enough for `unhandledRejection` to be emitted. */
const SETTLE_MS = 50

const unhandled: string[] = []
process.on('unhandledRejection', (cause) => unhandled.push(String(cause)))

const window = openWindow(process.argv[2] ?? '')
let failure = 'none'
let written = 0
for (; written < ENTRIES_MAX && failure === 'none'; written += 1) {
  try {
    window.transaction(() =>
      window.put({ key: windowEntryKey(written, 'x'.repeat(200)), counts: { ...NO_SLOTS, trial: 1 } }),
    )
  } catch (error) {
    failure = error instanceof Error ? error.name : 'no error'
    written -= 1
  }
}
await sleep(SETTLE_MS)
const counted = window.total().counts.trial
await window.close()
process.stdout.write(JSON.stringify({ failure, written, counted, unhandled }))
