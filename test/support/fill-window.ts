/** A process of its own for a test: puts entries into the rate limit's window until one fails, and says how it ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import { entryKey } from '../../store/layout.ts'
import { NO_PLACES, openWindow } from '../../store/window.ts'

/** More than any limit of the test lets in. */
const ENTRIES_MAX = 100_000
/** Long enough for a rejection that nobody holds to be noticed. */
const SETTLE_MS = 50

const unhandled: string[] = []
process.on('unhandledRejection', (cause) => unhandled.push(String(cause)))

const window = openWindow(process.argv[2] ?? '')
let failure = 'none'
let written = 0
for (; written < ENTRIES_MAX && failure === 'none'; written += 1) {
  try {
    window.alone(() => window.put({ key: entryKey(written, 'x'.repeat(200)), tally: { ...NO_PLACES, unpaid: 1 } }))
  } catch (error) {
    failure = error instanceof Error ? error.name : 'no error'
    written -= 1
  }
}
await sleep(SETTLE_MS)
const counted = window.total().tally.unpaid
await window.close()
process.stdout.write(JSON.stringify({ failure, written, counted, unhandled }))
