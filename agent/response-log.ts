/** Opens the response log that the configuration names: PostgreSQL, or LMDB in the data directory. */
import { openPostgresResponseLog } from '../store/postgres/responses.ts'
import { openResponseLog, type ResponseLog } from '../store/responses.ts'
import type { Report } from '../store/runtime.ts'
import type { Config } from './config.ts'

type LogConfig = Pick<Config, 'dataDirectory' | 'responseLog'>

export async function openConfiguredLog(
  { dataDirectory, responseLog: url }: LogConfig,
  report: Report,
): Promise<ResponseLog> {
  return url === undefined ? openResponseLog(dataDirectory) : openPostgresResponseLog({ url, report })
}

/** For commands that run beside the service and change nothing. */
export async function openLogForReading(config: LogConfig): Promise<ResponseLog & AsyncDisposable> {
  const isLmdb = config.responseLog === undefined
  const log = isLmdb
    ? openResponseLog(config.dataDirectory, { readOnly: true })
    : await openConfiguredLog(config, () => undefined)
  return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() })
}
