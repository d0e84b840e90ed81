/** Schemas and bodies of `GET /api/v1/meta` (contract 2.9) and `GET /attribution` (contract 2.10). */
import * as z from 'zod'
import { endpoint, priceKey } from '../../agent/operation/operation.ts'
import type { Terms } from '../../agent/payment/terms.ts'
import { datasetStatus, type Catalog } from '../../store/dataset/catalog.ts'
import { CRO_COMPANIES, sourceSchema } from '../../store/dataset/source.ts'
import { snapshotInfoSchema } from '../../store/dataset/snapshot.ts'
import type { Journal } from '../../store/history/journal.ts'

const SERVICE_NAME = 'irish-company-agent'

const count = z.int().min(0)

const importSchema = snapshotInfoSchema.pick({
  snapshot_id: true,
  row_count: true,
  quarantined_company_count: true,
  rejected_row_count: true,
  imported_at: true,
})

export const metadataSchema = z.strictObject({
  service: z.string(),
  version: z.string(),
  endpoints: z.array(z.string()),
  dataset_status: z.enum(['ready', 'stale']),
  source: sourceSchema,
  ...importSchema.shape,
  complete_since: z.iso.date().nullable(),
  access: z.strictObject({
    mode: z.enum(['mainnet', 'testnet']),
    network: z.string(),
    asset: z.string(),
    pay_to: z.string(),
    payment_required: z.literal(true),
    price_micro_usdc: count,
    endpoint_prices: z.record(z.string(), count),
    limit_scope: z.literal('shared_origin_service'),
    lookup_limit_per_minute: z.int().min(1),
  }),
})

export const attributionSchema = sourceSchema.pick({
  publisher: true,
  dataset_url: true,
  license: true,
  license_url: true,
  notice: true,
})

/** What the metadata shows: the configuration, and the sources of the current dataset. */
interface CurrentFacts {
  version: string
  terms: Terms
  rateLimitPerMinute: number
  catalog: Pick<Catalog, 'current' | 'retrieval'>
  journal: () => Pick<Journal, 'completeSince'>
  now: () => Date
}

export function currentMetadata(facts: CurrentFacts): z.output<typeof metadataSchema> | undefined {
  const { version, terms, rateLimitPerMinute, journal, now } = facts
  const dataset = facts.catalog.current()
  if (!dataset) return undefined
  const { source, snapshot } = dataset
  const prices = terms.operations.flatMap((each): [string, number][] =>
    each.kind === 'single' ? [[priceKey(each), each.prices[terms.mode]]] : [],
  )
  return {
    service: SERVICE_NAME,
    version,
    endpoints: terms.operations.map(endpoint),
    dataset_status: datasetStatus(source, now()),
    source,
    ...importSchema.strip().parse(snapshot.info),
    complete_since: firstDay(journal),
    access: {
      mode: terms.mode,
      network: terms.network,
      asset: terms.asset,
      pay_to: terms.payTo,
      payment_required: true,
      price_micro_usdc: prices[0]?.[1] ?? 0,
      endpoint_prices: Object.fromEntries(prices),
      limit_scope: 'shared_origin_service',
      lookup_limit_per_minute: rateLimitPerMinute,
    },
  }
}

/** The day of the oldest recorded file. Null while the journal cannot be read. */
function firstDay(journal: CurrentFacts['journal']): string | null {
  try {
    return journal().completeSince() ?? null
  } catch {
    return null
  }
}

export function currentAttribution({ catalog }: CurrentFacts): z.output<typeof attributionSchema> {
  return attributionSchema.strip().parse(catalog.retrieval()?.source ?? CRO_COMPANIES)
}
