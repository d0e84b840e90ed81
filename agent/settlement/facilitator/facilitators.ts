/**
 * One or several facilitators. `verify` tries them in order. The one that answers also settles, and no later one
 * receives the payment.
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

export function openFacilitators(
  facilitators: readonly [NamedFacilitator, ...NamedFacilitator[]],
  report: Report,
): Facilitator {
  return {
    async verify(...call) {
      /**
       * The failure of the previous facilitator. The last failure is thrown as it is, because the metrics count its
       * kind.
       */
      let failure: unknown
      for (const [index, { name, client }] of facilitators.entries()) {
        // The code has the position, from 1, because a URL is not written to the log.
        if (failure !== undefined)
          report('facilitator_unanswered', new ReplyError(`FACILITATOR_${index}`, { cause: failure }))
        try {
          const reply = await client.verify(...call)
          parseVerifyReply(reply)
          return { ...reply, facilitator: name }
        } catch (cause) {
          failure = cause
        }
      }
      throw failure
    },
    async settle(payment, requirements, name = facilitators[0].name) {
      const chosen = facilitators.find((each) => each.name === name)
      // The operator has removed it. Only the chain then ends the record.
      if (!chosen) throw new ReplyError('FACILITATOR_REMOVED')
      return chosen.client.settle(payment, requirements)
    },
  }
}
