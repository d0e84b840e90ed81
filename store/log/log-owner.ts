/**
 * A response log stores its owner: receiver, network and asset. A data directory stores the id of its response log in a
 * file, the marker, and beside it the receivers that it was used with. A start compares all of them with the
 * configuration (agent/service/check-log-owner.ts).
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { writeFileAtomically } from '../files/atomic-file.ts'
import { StoreError } from '../files/environment.ts'
import { errorCode } from '../base/error-code.ts'
import type { ResponseRecord } from './record.ts'

export interface LogOwner {
  /** Identifies the log. Copies of the log have the same one. */
  readonly log_id: string
  readonly network: string
  readonly asset: string
  /** The receiver of the payments. All addresses are in lower case. */
  readonly pay_to: string
  /** Every receiver that the log has had, the present one included. */
  readonly receivers: readonly string[]
}

/**
 * Refuses a sale to another receiver than that of the log, which another process may have changed.
 * @throws StoreError
 */
export function refuseOtherReceiver(owner: LogOwner | undefined, { requirements }: ResponseRecord): void {
  if (owner && owner.pay_to !== receiverOf({ requirements }))
    throw new StoreError('The receiver of the response log has changed: start this process again with the new PAY_TO')
}

export const receiverOf = ({ requirements }: Pick<ResponseRecord, 'requirements'>) =>
  String(requirements['payTo']).toLowerCase()

const markerSchema = z.strictObject({ log_id: z.uuid() })

const markerPath = (dataDirectory: string) => join(dataDirectory, 'response-log.json')

/** The id of the log that this data directory uses. Undefined before the first start. */
export async function readLogMarker(dataDirectory: string): Promise<string | undefined> {
  const advice = 'start once with --new-log to write it again'
  return (await readStored(markerPath(dataDirectory), markerSchema, advice))?.log_id
}

export async function writeLogMarker(dataDirectory: string, logId: string): Promise<void> {
  await writeFileAtomically(markerPath(dataDirectory), JSON.stringify({ log_id: logId }))
}

const receiversSchema = z.object({ receivers: z.array(z.string()) })

const receiversPath = (dataDirectory: string) => join(dataDirectory, 'receivers.json')

/** Every receiver that this data directory was used with, the last one at the end. A lost log does not lose them. */
export async function readReceivers(dataDirectory: string): Promise<string[]> {
  const advice = 'restore it, or remove it if PAY_TO has never changed'
  return (await readStored(receiversPath(dataDirectory), receiversSchema, advice))?.receivers ?? []
}

export async function writeReceivers(dataDirectory: string, receivers: readonly string[]): Promise<void> {
  await writeFileAtomically(receiversPath(dataDirectory), JSON.stringify({ receivers }))
}

async function readStored<T>(path: string, schema: z.ZodType<T>, advice: string): Promise<T | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return undefined
    throw new StoreError(`${path}: cannot be read; ${advice}`, { cause })
  }
}

/** The next start then accepts any response log and receiver. */
export async function removeLogMarker(dataDirectory: string): Promise<void> {
  for (const path of [markerPath(dataDirectory), receiversPath(dataDirectory)]) await rm(path, { force: true })
}
