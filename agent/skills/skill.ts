/** A skill computes the answer of one operation from a dataset. It does not depend on the transport or the payment. */
import type { z } from 'zod'
import type { Dataset } from '../../store/catalog.ts'
import type { Refused } from '../operation/outcome.ts'

/** What a skill reads besides its input. Built for each request. */
export interface SkillContext {
  dataset: Dataset | undefined
  /** Testnet only (contract 1.7). */
  hasSyntheticCompany: boolean
  /** Limits the time of a query. */
  now: () => Date
}

export type PreparedAnswer = { kind: 'prepared'; body: string; snapshotId: string } | Refused

export interface Skill<Input> {
  /** Whether the operation needs a loaded and fresh dataset. */
  needsDataset(input: Input, context: SkillContext): boolean
  prepare(input: Input, context: SkillContext): PreparedAnswer
}

/** The JSON text that is stored and sold. Throws when the response violates its published schema. */
export function toPreparedAnswer<Response extends { snapshot_id: string }>(
  schema: z.ZodType<Response>,
  response: unknown,
): PreparedAnswer {
  const checked = schema.parse(response)
  return { kind: 'prepared', body: JSON.stringify(checked), snapshotId: checked.snapshot_id }
}
