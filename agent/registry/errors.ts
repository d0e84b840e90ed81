/** Why a registry could not be read, as a code for the log. Transport errors come from agent/rpc/ and have their own codes. */
import { ReplyError } from '../rpc/post-json.ts'

/** The configuration contradicts the chain, so earlier results are invalid. */
const CONTRADICTIONS = ['WRONG_CHAIN', 'REGISTRIES_NOT_LINKED'] as const
/** Faults that the feedback of one client can cause. */
const DATA_FAULTS = ['CALL_REFUSED', 'BAD_DATA', 'INCONSISTENT'] as const

type RegistryFault = (typeof CONTRADICTIONS)[number] | (typeof DATA_FAULTS)[number] | 'NO_BLOCK' | 'OLD_BLOCK'

export class RegistryError extends Error {
  override name = 'RegistryError'
  readonly code: RegistryFault

  constructor(code: RegistryFault) {
    super(code)
    this.code = code
  }
}

export function isContradiction(cause: unknown): boolean {
  return cause instanceof RegistryError && CONTRADICTIONS.some((code) => code === cause.code)
}

/** Whether the node itself fails. False for faults that the feedback of one client can cause, such as a large reply. */
export function isOutage(cause: unknown): boolean {
  if (cause instanceof ReplyError) return cause.code !== 'TOO_LARGE'
  return !(cause instanceof RegistryError) || !DATA_FAULTS.some((code) => code === cause.code)
}
