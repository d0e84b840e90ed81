/** The refusal of a request that exceeds a limit. */
import { refused, type Refused } from '../operation/outcome.ts'

/** Contract 6.2.1: whole seconds, at least 1. */
export function rateLimited(waitMs: number): Refused {
  return refused({ code: 'rate_limited', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}
