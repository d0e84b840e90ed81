/** The log: JSON lines on stderr. Causes are reduced to our own words and codes; payments and foreign text never enter. */
import { pino, type Logger } from 'pino'
import { ImportError } from '../store/import/errors.ts'

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'

const STDERR = 2

export function openLog(level: LogLevel): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: STDERR, sync: true }),
  )
}

/**
 * What a log line may show of a cause: the names of the errors along its chain, and their stable codes. Messages stay
 * out: those of facilitators, RPC servers and libraries hold calldata, signatures, addresses and whatever they were sent.
 */
export function describeCause(cause: unknown): { error: string } {
  const names: string[] = []
  for (let each: unknown = cause; each instanceof Error && names.length < 5; each = each.cause) {
    // An import's fault is a word of ours and the whole of what an operator needs to know.
    const code = each instanceof ImportError ? each.fault : 'code' in each ? each.code : ''
    const isStable = typeof code === 'string' && (each instanceof ImportError || /^[A-Z_0-9]{1,40}$/.test(code))
    names.push(isStable ? `${each.name} ${code}` : each.name)
  }
  if (names.length > 0) return { error: names.join(' < ') }
  return { error: typeof cause === 'string' && /^[a-zA-Z0-9_ -]{1,80}$/.test(cause) ? cause : 'not an Error' }
}
