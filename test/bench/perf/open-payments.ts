/**
 * The CPU time of the reconciler in the minute after 1,800 sales, whose transfers are not final yet: as many as a
 * service has open that sells 120 a minute on a chain whose blocks become final after 15 minutes.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateRegister } from '../../support/sample/generate.ts'
import { readCorpus } from '../generated-register.ts'
import { sendLoad } from '../load/client.ts'
import { cpuMicroseconds, startService, startRemotes, type ServerProcess } from '../load/server-process.ts'
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
  await generateRegister({ rows: REGISTER_ROWS, seed: 1, out: dataset })
  await using remotes = await startRemotes()
  const start = (name: string) =>
    startService(name, serviceEnvironment(join(directory, name), { dataset, remotes: remotes.url }))
  await using idle = await start('no open payment')
  await using service = await start('open payments')
  const requests = WORKLOADS['paid lookup'].build(
    await readCorpus(join(directory, service.name)),
    Math.ceil(OPEN_PAYMENTS * size.requestShare),
  )
  await sendLoad(service, { requests, connections: CONNECTIONS, usesRemotes: true })
  const measuredMs = Math.max(MEASURED_MS_MIN, MINUTE_MS * size.requestShare)
  const cpuPerMinute = async ({ child }: ServerProcess) => {
    const before = cpuMicroseconds(child)
    await sleep(measuredMs)
    return ((cpuMicroseconds(child) - before) / 1000) * (MINUTE_MS / measuredMs)
  }
  const [value, baseline] = await Promise.all([cpuPerMinute(service), cpuPerMinute(idle)])
  return [withBaseline('open payments', value, { name: idle.name, value: baseline })]
}
