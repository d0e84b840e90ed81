/** Opens the configured response log: in PostgreSQL, or in LMDB in the data directory. */
import { openPostgresResponseLog } from '../../store/log/postgres/responses.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import type { Report } from '../../store/base/runtime.ts'
import type { Config } from './config.ts'

type LogConfig = Pick<Config, 'dataDirectory' | 'responseLog'>

/** `salesPerMinute` is absent for commands, which sell nothing. */
export async function openConfiguredLog(
  { dataDirectory, responseLog: url }: LogConfig,
  {
    salesPerMinute,
    now,
    report = () => undefined,
  }: { salesPerMinute?: number; now?: () => Date; report?: Report } = {},
): Promise<ResponseLog> {
  if (url !== undefined) return openPostgresResponseLog({ url, salesPerMinute, report })
  return new LmdbResponseLog(dataDirectory, { salesPerMinute, ...(now && { now }) })
}

/** For commands that run beside the service and change nothing. */
export async function openLogForReading(config: LogConfig): Promise<ResponseLog & AsyncDisposable> {
  const isLmdb = config.responseLog === undefined
  const log = isLmdb ? new LmdbResponseLog(config.dataDirectory, { readOnly: true }) : await openConfiguredLog(config)
  return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() })
}
