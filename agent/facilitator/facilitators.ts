/**
 * One or several facilitators. The first one whose `verify` answers for a payment also settles it, and no other one receives the
 * payment then.
 */
import type { FacilitatorClient } from '@x402/core/server'
import type { Report } from '../../store/base/runtime.ts'
import { ReplyError } from '../rpc/post-json.ts'
import { parseVerifyReply, type Facilitator } from './facilitator.ts'

export interface NamedFacilitator {
  /** Its URL. */
  name: string
  client: Pick<FacilitatorClient, 'verify' | 'settle'>
}

/** A facilitator gave no answer to `verify`. The code has its position in the list, because a URL is not written to the log. */
class FacilitatorFailure extends Error {
  override name = 'FacilitatorFailure'
  readonly code: string

  constructor(position: number, cause: unknown) {
    super('No answer', { cause })
    this.code = `FACILITATOR_${position}`
  }
}

export function openFacilitators(
  facilitators: readonly [NamedFacilitator, ...NamedFacilitator[]],
  report: Report,
): Facilitator {
  return {
    async verify(...call) {
      let failure: unknown
      for (const [index, { name, client }] of facilitators.entries()) {
        if (failure !== undefined) report('facilitator_unanswered', failure)
        try {
          const reply = await client.verify(...call)
          parseVerifyReply(reply)
          return { ...reply, facilitator: name }
        } catch (cause) {
          failure = new FacilitatorFailure(index + 1, cause)
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
