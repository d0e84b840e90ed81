/** The owner of a response log: receiver, network and asset. Every sale compares the receiver. */
import { StoreError } from '../files/environment.ts'
import type { StoredDocument } from './documents.ts'
import type { Claim, ResponseRecord } from './record.ts'
import type { ResponseLog } from './responses.ts'

export interface LogOwner {
  /** Identifies the log. Copies of the log have the same one. */
  readonly log_id: string
  readonly network: string
  readonly asset: string
  /** The receiver of the payments. All addresses are in lower case. */
  readonly pay_to: string
  /** Every receiver that the log has had, the present one included. */
  readonly receivers: readonly string[]
}

export const OWNER = 'owner'

/** Before the first start of a service it has no value. */
export const ownerOf = (log: Pick<ResponseLog, 'document'>) => log.document<LogOwner>(OWNER)

/** The owner changes at a start of a service, so that a second claim is the exception. */
const CLAIMS_MAX = 3

/** Claims payments to the owner of the log, which another process can change. */
export class LogOwnership {
  /** As it was read last. */
  #owner: { stored: StoredDocument<LogOwner> | undefined } | undefined

  /** @throws StoreError if the log belongs to another receiver than that of the record */
  async claim(
    log: Pick<ResponseLog, 'claim' | 'document'>,
    record: ResponseRecord,
  ): Promise<Exclude<Claim, { kind: 'outdated' }>> {
    for (let claims = 0; claims < CLAIMS_MAX; claims += 1) {
      const { stored } = (this.#owner ??= { stored: await ownerOf(log).read() })
      refuseOtherReceiver(stored?.value, record)
      const claim = await log.claim(record, { document: OWNER, revision: stored?.revision })
      if (claim.kind !== 'outdated') return claim
      this.#owner = undefined
    }
    throw new StoreError('The owner of the response log changes again and again')
  }
}

function refuseOtherReceiver(owner: LogOwner | undefined, { requirements }: ResponseRecord): void {
  if (owner && owner.pay_to !== String(requirements['payTo']).toLowerCase())
    throw new StoreError('The receiver of the response log has changed: start this process again with the new PAY_TO')
}
