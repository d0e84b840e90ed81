/**
 * The whole service in a process of its own. Its facilitator and chain are stubs that answer at once, so that a benchmark
 * measures the service alone. With `LEDGER_URL` they are in another process. Options come from the environment. SIGUSR2
 * makes the next daily retrieval due. Prints `ready URL` and, at the end of each retrieval, `retrieval N`.
 */
import { readConfig } from '../../agent/config.ts'
import { startService, type Externals } from '../../agent/service.ts'
import type { Timer } from '../../store/runtime.ts'
import { ledgerExternals } from '../bench/soak/ledger.ts'
import { PROCESSES } from '../support/fixtures.ts'
import { testTerms, type AuthorizationFields } from '../support/payments.ts'
import { chainOf } from '../support/fake-chain.ts'
import { settledReply, TRANSACTION } from '../support/sale-harness.ts'

const print = (line: string) => void process.stdout.write(`${line}\n`)

/** Only the schedule of retrievals uses timers of one hour. A day consists of several of them. */
const HOUR_MS = 60 * 60 * 1000

let waiting: (() => void) | undefined
let retrievals = 0
const timer: Timer = (callback, milliseconds) => {
  if (milliseconds !== HOUR_MS) {
    const timeout = setTimeout(callback, milliseconds).unref()
    return () => clearTimeout(timeout)
  }
  if (!isDayPassing) print(`retrieval ${(retrievals += 1)}`)
  waiting = callback
  return () => (waiting = undefined)
}

let isDayPassing = false
/** Fires the hourly timers until the schedule starts a retrieval. */
function passOneDay(): void {
  isDayPassing = true
  while (waiting) {
    const callback = waiting
    waiting = undefined
    callback()
  }
  isDayPassing = false
}

const transfers = new Map<string, { from: string; to: string; value: bigint; transaction: string }>()

const ANSWERING_AT_ONCE: Pick<Externals, 'facilitator' | 'chain'> = {
  facilitator: {
    verify: async (payload) => ({ isValid: true, payer: settledReply(payload).payer ?? '' }),
    settle: async (payload) => {
      const { from, to, value, nonce } = payload.payload['authorization'] as AuthorizationFields
      transfers.set(nonce, { from, to, value: BigInt(value), transaction: TRANSACTION })
      return settledReply(payload)
    },
    getSupported: async () => ({ kinds: [], extensions: [], signers: {} }),
  },
  // Every transfer is found and final.
  chain: chainOf(
    () => new Date(),
    (nonce) => {
      const transfer = transfers.get(nonce)
      return transfer ? { nonce: 'used', transfer, isFinal: true } : { nonce: 'free', time: 0n, finalTime: 0n }
    },
  ),
}

/** The URL of a process with the facilitator and the chain, for benchmarks that kill this process. */
const ledger = process.env['LEDGER_URL']

const service = await startService({
  config: readConfig({ ADMIN_PORT: 'off', ...process.env }),
  version: '0.1.0',
  externals: {
    ...(ledger === undefined ? ANSWERING_AT_ONCE : ledgerExternals(ledger)),
    payTo: testTerms.payTo,
  },
  processes: PROCESSES,
  now: () => new Date(),
  random: () => 0.5,
  timer,
  report: (event) => void process.stderr.write(`${event}\n`),
})
print(`ready ${service.baseUrl}`)
// A parent process that forked this one also gets the local URL as a message, and on request the memory use after a
// collection and the metrics.
process.on('message', (message: { metrics?: boolean }) => {
  if (message.metrics) return void sendMetrics()
  globalThis.gc?.()
  process.send?.(process.memoryUsage())
})
async function sendMetrics(): Promise<void> {
  const response = await fetch(`${service.adminUrl}/metrics`)
  process.send?.(await response.text())
}
process.channel?.unref()
process.send?.(`http://127.0.0.1:${service.port}`)
process.on('SIGUSR2', passOneDay)
process.on('SIGTERM', () => void service.stop())
