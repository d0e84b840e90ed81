/**
 * The whole service as a process of its own, whose facilitator and chain answer at once, so that what is measured is ours.
 * Run as `node dist/test/support/busy-service.js`; surroundings come by the environment. SIGUSR2 makes its next daily
 * retrieval due; it says `ready URL`, and `retrieval N` at the end of each.
 */
import { readConfig } from '../../agent/config.ts'
import { startService } from '../../agent/service.ts'
import type { Timer } from '../../store/import/schedule.ts'
import { PROCESSES } from './fixtures.ts'
import { testTerms } from './payments.ts'
import { settledReply, TRANSACTION } from './seller.ts'

const say = (line: string) => void process.stdout.write(`${line}\n`)

/** The schedule alone waits by the hour; a day is over after some of its waits. */
const HOUR_MS = 60 * 60 * 1000

let waiting: (() => void) | undefined
let retrievals = 0
const timer: Timer = (callback, milliseconds) => {
  if (milliseconds !== HOUR_MS) {
    const timeout = setTimeout(callback, milliseconds).unref()
    return () => clearTimeout(timeout)
  }
  if (!isDue) say(`retrieval ${(retrievals += 1)}`)
  waiting = callback
  return () => (waiting = undefined)
}

let isDue = false
function letADayPass(): void {
  isDue = true
  while (waiting) {
    const callback = waiting
    waiting = undefined
    callback()
  }
  isDue = false
}

const service = await startService({
  config: readConfig(process.env),
  version: '0.1.0',
  doors: {
    facilitator: {
      verify: async (payload) => ({ isValid: true, payer: settledReply(payload).payer ?? '' }),
      settle: async (payload) => settledReply(payload),
      getSupported: async () => ({ kinds: [], extensions: [], signers: {} }),
    },
    chain: {
      head: async () => 100n,
      isNonceFree: async () => true,
      // Every transfer is there and final at once.
      evidence: async ({ authorization: { from, to, value } }) => ({
        nonce: 'used',
        transfer: { from, to, value: BigInt(value), transaction: TRANSACTION },
        isFinal: true,
      }),
    },
    payTo: testTerms.payTo,
  },
  processes: PROCESSES,
  now: () => new Date(),
  random: () => 0.5,
  timer,
  report: (event) => void process.stderr.write(`${event}\n`),
})
say(`ready ${service.baseUrl}`)
// A parent that forked us hears it too, and is told what memory holds once what nobody needs is gone.
process.on('message', () => {
  globalThis.gc?.()
  process.send?.(process.memoryUsage())
})
process.channel?.unref()
process.send?.(service.baseUrl)
process.on('SIGUSR2', letADayPass)
process.on('SIGTERM', () => void service.stop())
