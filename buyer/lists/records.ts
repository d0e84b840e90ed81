/** The newest records that a storage has bought, by company number. Reads each answer once. */
import { asOf } from '../../agent/operation/as-of.ts'
import { itemsOf } from '../../agent/operation/operation.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import type { Company } from '../../store/dataset/company.ts'
import { parseJson } from '../../base/read-body.ts'
import { findPurchase, listNames, type Purchase } from '../library/purchase-file.ts'
import { requestedOperation } from '../library/purchase-request.ts'
import { purchasedReceipt } from '../library/verify-purchase.ts'
import type { BuyerStorage } from '../library/storage.ts'

export interface BoughtRecord {
  company: Company
  /** The time of the payment, ISO 8601. */
  boughtAt: string
}

export type FindRecord = (number: string) => Promise<BoughtRecord | undefined>

export function openRecords(storage: BuyerStorage): FindRecord {
  const read = new Set<string>()
  const records = new Map<string, BoughtRecord>()
  return async (number) => {
    for (const name of await listNames(storage)) {
      if (read.has(name)) continue
      const purchase = await findPurchase({ storage, name }).catch(() => undefined)
      if (!purchase || purchasedReceipt(purchase) === undefined) continue
      read.add(name)
      if (isOfEarlierDay(purchase)) continue
      const boughtAt = purchase.signed_at
      for (const company of companiesIn(parseJson(purchase.answer?.body ?? '')))
        if ((records.get(company.company_number)?.boughtAt ?? '') <= boughtAt)
          records.set(company.company_number, { company, boughtAt })
    }
    return records.get(number)
  }
}

function isOfEarlierDay({ request }: Purchase): boolean {
  const operation = requestedOperation(request, OPERATIONS)
  return operation !== undefined && itemsOf(operation).some(({ definition }) => definition.name === asOf.name)
}

/** The library has checked the form of each answer that was paid. */
interface PaidAnswer {
  company?: Company
  candidates?: PaidAnswer[]
  results?: { body: PaidAnswer }[]
}

function companiesIn(answer: unknown): Company[] {
  const { company, candidates = [], results = [] } = answer as PaidAnswer
  return [...(company ? [company] : []), ...[...candidates, ...results.map(({ body }) => body)].flatMap(companiesIn)]
}
