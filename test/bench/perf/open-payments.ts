/**
 * The CPU time of the reconciler in the minute after 1,800 sales, whose transfers are not final yet: as many as a service
 * has open that sells 120 a minute on a chain whose blocks become final after 15 minutes.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateArchive, readCorpus } from '../generated-register.ts'
import { sendLoad } from '../load/client.ts'
import { cpuMicroseconds, startService, startRemotes } from '../load/server-process.ts'
import { WORKLOADS } from '../load/workloads.ts'
import { serviceEnvironment } from './http-rounds.ts'
import { withBaseline, type PerfContext, type PerfRow } from './perf-row.ts'

const REGISTER_ROWS = 3_000
const OPEN_PAYMENTS = 1_800
const CONNECTIONS = 16
const MINUTE_MS = 60_000
/** A run of the ci size has fewer payments and this much time. */
const MEASURED_MS_MIN = 1_000

export async function measureOpenPayments({ size, directory }: PerfContext): Promise<PerfRow[]> {
  const dataset = join(directory, 'open-payments.zip')
  await generateArchive({ rows: REGISTER_ROWS, seed: 1, path: dataset })
  await using remotes = await startRemotes()
  const dataDirectory = join(directory, 'open-payments')
  await using service = await startService(
    'service',
    serviceEnvironment(dataDirectory, { dataset, remotes: remotes.url }),
  )
  const measuredMs = Math.max(MEASURED_MS_MIN, MINUTE_MS * size.requestShare)
  const cpuPerMinute = async () => {
    const before = cpuMicroseconds(service.child)
    await sleep(measuredMs)
    return ((cpuMicroseconds(service.child) - before) / 1000) * (MINUTE_MS / measuredMs)
  }
  const idle = await cpuPerMinute()
  const requests = WORKLOADS['paid lookup'].build(
    await readCorpus(dataDirectory),
    Math.ceil(OPEN_PAYMENTS * size.requestShare),
  )
  await sendLoad(service, { requests, connections: CONNECTIONS, usesRemotes: true })
  return [withBaseline('open payments', await cpuPerMinute(), { name: 'no open payment', value: idle })]
}
