/** The files of the local chain in its directory. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

/** Exists while a chain runs. If its processes have ended, the chain was lost with them. */
export const RECORD_FILE = 'chain.json'
/** The state of a chain that does not run. It is removed when a chain continues from it, so that it is loaded once. */
export const stateFile = (chainId: number | string) => `state-${chainId}.json`

const recordSchema = z.object({
  url: z.string(),
  chainId: z.int(),
  /** The process ids of agent/sandbox/keep-chain.ts and of the service that started it. */
  keeper: z.int().positive(),
  service: z.int().positive(),
})

export type ChainRecord = z.infer<typeof recordSchema>

/** Undefined if the file is missing or invalid. */
export async function readRecord(directory: string): Promise<ChainRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(join(directory, RECORD_FILE), 'utf8')))
  } catch {
    return undefined
  }
}
