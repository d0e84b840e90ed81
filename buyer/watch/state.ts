/** What `client watch` keeps from one run to the next. */
import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import { ifMissing } from '../../base/error-code.ts'
import { parseJson } from '../../base/read-body.ts'
import { companySchema, type Company } from '../../store/dataset/company.ts'
import { writeFileAtomically } from '../../store/files/atomic-file.ts'
import { changeSchema } from '../../agent/operation/changes.ts'

const stateSchema = z.strictObject({
  /** The service and the network. */
  url: z.string(),
  mode: z.string(),
  /** Undefined before the first round has ended. */
  snapshot_id: z.string().optional(),
  /** Every change before this day was reported, and of this day and later those in `reported`. */
  since: z.iso.date().optional(),
  reported: z.array(changeSchema),
  /** The newest record of each company, or null without one. */
  companies: z.record(z.string(), companySchema.nullable()),
  /** The last records of companies that have none now. */
  removed: z.record(z.string(), companySchema),
  /**
   * The purchases that are under way. The run after an interruption makes the same requests, so that it finds their
   * payments.
   */
  round: z.strictObject({ snapshot_id: z.string(), since: z.iso.date(), numbers: z.array(z.string()) }).optional(),
})

export type WatchState = z.infer<typeof stateSchema>
export type Round = NonNullable<WatchState['round']>
export type Change = WatchState['reported'][number]
export type Records = Record<string, Company | null>

/** @throws an error if the file is not a state of this service */
export async function readState(file: string, { url, mode }: Pick<WatchState, 'url' | 'mode'>): Promise<WatchState> {
  const text = await readFile(file, 'utf8').catch(ifMissing(undefined))
  if (text === undefined) return { url, mode, reported: [], companies: {}, removed: {} }
  const state = stateSchema.safeParse(parseJson(text)).data
  if (state?.url === url && state.mode === mode) return state
  throw new Error(
    `${file} is not a state of this command for ${url} on ${mode}. Nothing was signed. Name another --state, which buys each record again`,
  )
}

export function writeState(file: string, state: WatchState): Promise<void> {
  return writeFileAtomically(file, `${JSON.stringify(state)}\n`)
}
