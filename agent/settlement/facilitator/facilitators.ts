/**
 * One or several facilitators. `verify` tries them in order. The one that answers also settles, and no later one
 * receives the payment unless the chain contradicts its refusal.
 */
import type { FacilitatorClient } from '@x402/core/server'
import type { Report } from '../../../store/base/runtime.ts'
import { ReplyError } from '../rpc/post-json.ts'
import { parseVerifyReply, type Facilitator } from './facilitator.ts'

export interface NamedFacilitator {
  /** Its URL, or `self` for the one in this process. */
  name: string
  client: Pick<FacilitatorClient, 'verify' | 'settle'>
}

/** For the log, which has codes only: the host of the facilitator. Its URL can hold a key. */
export function facilitatorError(name = 'sandbox', cause?: unknown): ReplyError {
  const host = URL.canParse(name) ? new URL(name).hostname : name
  return new ReplyError(`FACILITATOR_${host.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`.slice(0, 40), { cause })
}

export function openFacilitators(facilitators: readonly NamedFacilitator[], report: Report): Facilitator {
  return {
    async verify(payment, requirements, after) {
      const start = facilitators.findIndex(({ name }) => name === after) + 1
      // The last failure is thrown as it is, because the metrics count its kind.
      let failure: unknown = new ReplyError('NO_FACILITATOR_LEFT')
      for (const { name, client } of facilitators.slice(start)) {
        try {
          const reply = await client.verify(payment, requirements)
          parseVerifyReply(reply)
          return { ...reply, facilitator: name }
        } catch (cause) {
          failure = cause
          if (name !== facilitators.at(-1)?.name) report('facilitator_unanswered', facilitatorError(name, cause))
        }
      }
      throw failure
    },
    async settle(payment, requirements, name = facilitators[0]?.name) {
      const chosen = facilitators.find((each) => each.name === name)
      // The operator has removed it. Only the chain then ends the record.
      if (!chosen) throw new ReplyError('FACILITATOR_REMOVED')
      return chosen.client.settle(payment, requirements)
    },
  }
}
