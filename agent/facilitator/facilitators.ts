/**
 * One or several facilitators. The first one whose `verify` answers for a payment also settles it, and no other one receives the
 * payment then.
 */
import type { FacilitatorClient } from '@x402/core/server'
import { ReplyError } from '../rpc/post-json.ts'
import { parseVerifyReply, type Facilitator } from './facilitator.ts'

export interface NamedFacilitator {
  /** Its URL. */
  name: string
  client: Pick<FacilitatorClient, 'verify' | 'settle'>
}

export function openFacilitators(facilitators: readonly [NamedFacilitator, ...NamedFacilitator[]]): Facilitator {
  return {
    async verify(...call) {
      const causes: unknown[] = []
      for (const { name, client } of facilitators) {
        try {
          const reply = await client.verify(...call)
          parseVerifyReply(reply)
          return { ...reply, facilitator: name }
        } catch (cause) {
          causes.push(cause)
        }
      }
      throw causes.length === 1 ? causes[0] : new AggregateError(causes, 'No facilitator answers')
    },
    async settle(payment, requirements, name = facilitators[0].name) {
      const chosen = facilitators.find((each) => each.name === name)
      // The operator has removed it. Only the chain then ends the record.
      if (!chosen) throw new ReplyError('FACILITATOR_REMOVED')
      return chosen.client.settle(payment, requirements)
    },
  }
}
