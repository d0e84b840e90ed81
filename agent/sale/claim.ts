/**
 * Step 10: counts the sale, and stores the answer and the intent to settle. The facilitator is asked to settle only
 * after that.
 */
import type { LogOwnership } from '../../store/log/owner.ts'
import { endsLate, type CheckedPayment } from '../payment/payment-checks.ts'
import { NEW_LEASE } from '../settlement/recent-attempts.ts'
import type { SettlementServices } from '../settlement/services.ts'
import type { SaleStart } from '../settlement/settle.ts'
import type { SaleContext } from './sale-context.ts'

interface Sale {
  checked: CheckedPayment
  verified: { start: SaleStart; facilitator: string | undefined }
  prepared: { body: string; snapshotId: string }
}

/** A claim. `noteRefusal` gives back the sale of a payment that was refused. */
type CountedClaim =
  (Awaited<ReturnType<LogOwnership['claim']>> & { noteRefusal: () => void }) | { kind: 'full'; waitMs: number }

export async function countAndStore({ sales, services }: SaleContext, sale: Sale): Promise<CountedClaim> {
  // Beyond the lifetime of the quote, the buyer can still let a refused payment be settled.
  const keepsSale = endsLate(sale.checked.payment.payload.authorization, services.now())
  const counted = sales.take()
  if (counted.kind === 'full') return counted
  try {
    const claim = await storeClaim(services, sale)
    if (claim.kind === 'taken') counted.giveBack()
    return { ...claim, noteRefusal: keepsSale ? () => undefined : counted.giveBack }
  } catch (cause) {
    counted.giveBack()
    throw cause
  }
}

function storeClaim({ log, ownership, now }: SettlementServices, sale: Sale) {
  const { checked, verified, prepared } = sale
  const time = now().toISOString()
  const { anchor } = verified.start.observation
  return ownership.claim(log, {
    identity: checked.identity,
    ...(checked.id !== undefined && { payment_id: checked.id }),
    ...checked.bind(),
    state: 'prepared',
    attempt: 1,
    lease: NEW_LEASE,
    payment: checked.payment,
    requirements: { ...checked.requirements },
    ...(verified.facilitator !== undefined && { facilitator: verified.facilitator }),
    from_block: String(anchor.number),
    from_block_hash: anchor.hash,
    snapshot_id: prepared.snapshotId,
    body: prepared.body,
    payment_response: null,
    prepared_at: time,
    updated_at: time,
  })
}
