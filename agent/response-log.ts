/** Opens the configured response log and rate limit: in PostgreSQL, or in LMDB in the data directory. */
import type { OwnedLog } from '../store/log-owner.ts'
import { openPostgresResponseLog } from '../store/postgres/responses.ts'
import { openResponseLog, type ResponseLog } from '../store/responses.ts'
import { openPostgresSlots } from '../store/postgres/slots.ts'
import type { Report, Timer } from '../store/runtime.ts'
import type { Slots } from '../store/slots.ts'
import { WindowSlots } from '../store/window-slots.ts'
import { openWindow } from '../store/window.ts'
import type { Config } from './config.ts'

type LogConfig = Pick<Config, 'dataDirectory' | 'responseLog'>

export async function openConfiguredLog(
  { dataDirectory, responseLog: url }: LogConfig,
  report: Report,
): Promise<ResponseLog & OwnedLog> {
  return url === undefined ? openResponseLog(dataDirectory) : openPostgresResponseLog({ url, report })
}

interface SlotsOptions {
  config: Pick<Config, 'dataDirectory' | 'responseLog' | 'rateLimitPerMinute'>
  now: () => Date
  timer: Timer
  report: Report
}

export async function openConfiguredSlots({ config, now, timer, report }: SlotsOptions): Promise<Slots> {
  const { dataDirectory, responseLog: url, rateLimitPerMinute: perMinute } = config
  if (url === undefined) return new WindowSlots({ perMinute, now, window: openWindow(dataDirectory), report })
  return openPostgresSlots({ url, perMinute, clock: () => performance.now(), timer, report })
}

/** For commands that run beside the service and change nothing. */
export async function openLogForReading(config: LogConfig): Promise<ResponseLog & AsyncDisposable> {
  const isLmdb = config.responseLog === undefined
  const log = isLmdb
    ? openResponseLog(config.dataDirectory, { readOnly: true })
    : await openConfiguredLog(config, () => undefined)
  return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() })
}
