/** The columns of the first payment of a list, which are kept beside its purchases for later runs. */
import { basename } from 'node:path'
import * as z from 'zod'
import { parseJson } from '../../base/read-body.ts'
import { sha256Hex } from '../../base/canonical.ts'
import type { BuyerStorage } from '../library/storage.ts'

const columnsSchema = z.array(z.union([z.string(), z.int()]))

const keptSchema = z.object({
  columns: z.object({
    name: columnsSchema,
    company_number: columnsSchema,
    eircode: columnsSchema,
    address: columnsSchema,
  }),
  /** Whether a person has named the column of the numbers. */
  is_number_named: z.boolean(),
})

export type KeptColumns = z.infer<typeof keptSchema>

/** One entry for each list of the folder, so that a folder with a list can be moved. */
const entryOf = (file: string) => `columns-${sha256Hex(basename(file)).slice(0, 16)}.json`

export async function readKeptColumns(storage: BuyerStorage, file: string): Promise<KeptColumns | undefined> {
  const text = await storage.read(entryOf(file))
  if (text === undefined) return undefined
  const { data } = keptSchema.safeParse(parseJson(text))
  if (!data) throw new Error(`${storage.locate(entryOf(file))} is damaged. Remove it, and name the columns of the list`)
  return data
}

export const keepColumns = (storage: BuyerStorage, file: string, kept: KeptColumns): Promise<void> =>
  storage.replace(entryOf(file), `${JSON.stringify(kept, null, 2)}\n`)
