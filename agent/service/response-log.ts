/** Opens the configured response log: in PostgreSQL, or in LMDB in the data directory. */
import { openPostgresResponseLog } from '../../store/log/postgres/responses.ts'
import { findMoveFault } from '../../store/log/move.ts'
import { StoreError } from '../../store/files/environment.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import type { Report } from '../../base/runtime.ts'
import type { Config } from './config.ts'

type LogOptions = ConstructorParameters<typeof LmdbResponseLog>[1] & { report?: Report }

export async function openConfiguredLog(
  { dataDirectory, responseLog: url }: Pick<Config, 'dataDirectory' | 'responseLog'>,
  { report = () => undefined, ...options }: LogOptions = {},
) {
  const log: ResponseLog =
    url === undefined ? new LmdbResponseLog(dataDirectory, options) : await openPostgresResponseLog({ url, report })
  return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() })
}

/**
 * For commands beside a service, which refuses such a log at its start.
 * @throws StoreError if the log was moved to another place, or the move to it is not complete
 */
export async function openCurrentLog(...options: Parameters<typeof openConfiguredLog>) {
  const log = await openConfiguredLog(...options)
  const fault = await findMoveFault(log)
  if (fault === undefined) return log
  await log.close()
  throw new StoreError(fault)
}
