/** What a skill is: it turns a checked input and the data at hand into the answer that will be sold, or a refusal. */
import type { z } from 'zod'
import type { Dataset } from '../../store/catalog.ts'
import type { Refusal } from '../operation/refusal.ts'

/** The data a skill answers from. */
export interface Shelf {
  dataset: Dataset | undefined
  /** Whether the synthetic test company exists here: on testnet only (spec 1). */
  hasSyntheticCompany: boolean
  /** Whether an answer has taken longer than it may since this was first asked. */
  isTimeUp: () => boolean
}

export type Prepared = { kind: 'prepared'; body: string; snapshotId: string } | { kind: 'refused'; refusal: Refusal }

export interface Skill<Input> {
  /** Whether the answer depends on the dataset, and so on its being there and fresh. */
  needsDataset(input: Input, shelf: Shelf): boolean
  prepare(input: Input, shelf: Shelf): Prepared
}

/** An answer as it is stored and sold, checked against the published schema before. */
export function sealed<Response extends { snapshot_id: string }>(
  schema: z.ZodType<Response>,
  response: unknown,
): Prepared {
  const checked = schema.parse(response)
  return { kind: 'prepared', body: JSON.stringify(checked), snapshotId: checked.snapshot_id }
}
