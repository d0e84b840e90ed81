/**
 * One or several facilitators. The first one whose `verify` answers for a payment also settles it, and no other one receives the
 * payment then.
 */
import type { FacilitatorClient } from '@x402/core/server'
import type { Report } from '../../store/base/runtime.ts'
import { ReplyError } from '../rpc/post-json.ts'
import { parseVerifyReply, type Facilitator } from './facilitator.ts'

export interface NamedFacilitator {
  /** Its URL, or `self` for the one in this process. */
  name: string
  client: Pick<FacilitatorClient, 'verify' | 'settle'>
}

/** A facilitator gave no answer to `verify`. The code has its position in the list, because a URL is not written to the log. */
class FacilitatorFailure extends Error {
  override name = 'FacilitatorFailure'
  readonly code: string

  /** @param position counts from 1 */
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
      /** Of the facilitator before. The last one is thrown as it is, because the metrics count its kind. */
      let failure: unknown
      for (const [index, { name, client }] of facilitators.entries()) {
        if (failure !== undefined) report('facilitator_unanswered', new FacilitatorFailure(index, failure))
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
