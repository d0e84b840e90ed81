/** `GET /api/v1/meta` (spec 2.9) and `GET /attribution` (spec 2.10): what is sold, from which data, at what price. */
import type { OperationName } from '../agent/operation/schema.ts'
import { endpoint } from '../agent/operation/resource.ts'
import type { Terms } from '../agent/payments/terms.ts'
import { datasetStatus, type Catalog, type Dataset } from '../store/catalog.ts'
import { CRO_COMPANIES } from '../store/source.ts'
import { accessOf } from './documents/deployment.ts'

const SERVICE_NAME = 'irish-company-agent'

export interface Facts {
  version: string
  terms: Terms
  onSale: readonly OperationName[]
  rateLimitPerMinute: number
  catalog: Catalog
  now: () => Date
}

export function metadata(facts: Facts, { snapshot, source }: Dataset) {
  const { version, onSale, now } = facts
  const { snapshot_id, row_count, quarantined_company_count, rejected_row_count, imported_at } = snapshot.info
  return {
    service: SERVICE_NAME,
    version,
    endpoints: onSale.map(endpoint),
    dataset_status: datasetStatus(source, now()),
    source,
    snapshot_id,
    row_count,
    quarantined_company_count,
    rejected_row_count,
    imported_at,
    access: accessOf(facts),
  }
}

/** The current dataset's, or the register's while there is none. */
export function attribution({ catalog }: Facts) {
  const { publisher, dataset_url, license, license_url, notice } = catalog.retrieval()?.source ?? CRO_COMPANIES
  return { publisher, dataset_url, license, license_url, notice }
}
