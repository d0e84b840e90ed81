/**
 * The log: JSON lines. A cause is reduced to error names and codes, so no payment and no remote text is
 * logged.
 */
import { pino, type DestinationStream, type Logger } from 'pino'
import type { Dataset } from '../../store/dataset/catalog.ts'
import { ImportError } from '../../store/import/errors.ts'
import type { SaleLine } from './admin/instrumentation.ts'
import type { Config } from './config.ts'

/** Bounds the loop, because a chain of causes can be a cycle. */
const CAUSES_MAX = 5

export function openLog(level: Config['logLevel'], destination: DestinationStream): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
}

export function logEvents(log: Logger) {
  return {
    report: (event: string, cause: unknown, requestId?: string) =>
      log.warn({ ...(requestId !== undefined && { request_id: requestId }), ...describeCause(cause) }, event),
    onDatasetChange: ({ snapshot_id, changes }: Dataset) => log.info({ snapshot_id, ...changes }, 'dataset_changed'),
    onSale: (line: SaleLine) => log.info(line, 'sale'),
  }
}

/**
 * Describes a cause by the names and codes of its chain of errors. Messages are left out, because those of
 * facilitators, RPC servers and libraries contain calldata, signatures and addresses.
 */
export function describeCause(cause: unknown): { error?: string; reason?: string } {
  if (cause === undefined) return {}
  const names: string[] = []
  for (let each: unknown = cause; each instanceof Error && names.length < CAUSES_MAX; each = each.cause) {
    // The code of an `ImportError` is one of a fixed set.
    const code = each instanceof ImportError ? each.code : 'code' in each ? each.code : ''
    const isStable = typeof code === 'string' && (each instanceof ImportError || /^[A-Z_0-9]{1,40}$/.test(code))
    names.push(isStable ? `${each.name} ${code}` : each.name)
  }
  // The message of an `ImportError` has figures and paths of this program, and nothing of the file.
  const reason = cause instanceof ImportError && { reason: cause.message }
  if (names.length > 0) return { error: names.join(' < '), ...reason }
  return { error: typeof cause === 'string' && /^[a-zA-Z0-9_ -]{1,80}$/.test(cause) ? cause : 'not an Error' }
}
