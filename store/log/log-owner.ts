/**
 * A response log stores its owner: receiver, network and asset. A data directory stores the id of its response log in a
 * file, the marker. A start compares both with the configuration (agent/service/check-log-owner.ts).
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { writeFileAtomically } from '../files/atomic-file.ts'
import { StoreError } from '../files/environment.ts'
import { errorCode } from '../base/error-code.ts'

/** The receiver and the chain that a response log belongs to. */
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

const markerSchema = z.strictObject({ log_id: z.uuid() })

const markerPath = (dataDirectory: string) => join(dataDirectory, 'response-log.json')

/** The id of the log that this data directory uses. Undefined before the first start. */
export async function readLogMarker(dataDirectory: string): Promise<string | undefined> {
  const path = markerPath(dataDirectory)
  try {
    return markerSchema.parse(JSON.parse(await readFile(path, 'utf8'))).log_id
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return undefined
    throw new StoreError(`${path}: cannot be read; start once with --new-log to write it again`, { cause })
  }
}

export async function writeLogMarker(dataDirectory: string, logId: string): Promise<void> {
  await writeFileAtomically(markerPath(dataDirectory), JSON.stringify({ log_id: logId }))
}

/** The next start then accepts any response log. */
export async function removeLogMarker(dataDirectory: string): Promise<void> {
  await rm(markerPath(dataDirectory), { force: true })
}
