/** Step 5: whether the data that an operation needs is there and fresh. */
import { datasetStatus } from '../../store/catalog.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import { needsDataset } from '../skills/skills.ts'
import { shelfOf, type Purchase, type Seller } from './seller.ts'

/** Until the next look at the source can have changed anything. */
const RETRY_AFTER_SECONDS = 60

export function checkReadiness(seller: Seller, { operation }: Purchase): Refused | undefined {
  const shelf = shelfOf(seller)
  if (!needsDataset(operation, shelf)) return undefined
  if (!shelf.dataset) return refused({ code: 'dataset_unavailable', retryAfterSeconds: RETRY_AFTER_SECONDS })
  return datasetStatus(shelf.dataset.source, seller.desk.now()) === 'stale'
    ? refused({ code: 'dataset_stale', retryAfterSeconds: RETRY_AFTER_SECONDS })
    : undefined
}
