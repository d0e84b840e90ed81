/** Why a registry could not be read: a code of ours for the log. Nothing the other side said is kept. */

/** The RPC itself is no use now, whatever it is asked. */
const OUTAGES = ['LATE', 'UNREACHABLE', 'BAD_STATUS', 'NOT_A_BATCH', 'NO_BLOCK', 'OLD_BLOCK'] as const
/** The configuration and the chain contradict each other: what was read before says nothing any more. */
const CONTRADICTIONS = ['WRONG_CHAIN', 'REGISTRIES_NOT_LINKED'] as const

type Fault =
  | (typeof OUTAGES)[number]
  | (typeof CONTRADICTIONS)[number]
  | 'TOO_LARGE'
  | 'CALL_REFUSED'
  | 'BAD_DATA'
  | 'INCONSISTENT'

export class RegistryError extends Error {
  override name = 'RegistryError'
  readonly code: Fault

  constructor(code: Fault) {
    super(code)
    this.code = code
  }
}

export function isContradiction(cause: unknown): boolean {
  return cause instanceof RegistryError && CONTRADICTIONS.some((code) => code === cause.code)
}

/** Not for what one client's feedback can bring about, which is nobody else's trouble. */
export function isOutage(cause: unknown): boolean {
  return !(cause instanceof RegistryError) || OUTAGES.some((code) => code === cause.code) || isContradiction(cause)
}
