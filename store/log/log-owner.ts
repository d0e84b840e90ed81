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
import { errorCode } from '../../base/error-code.ts'
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

/** A small file of a data directory. `advice` is for an operator whose file cannot be read. */
function storedFile<T>(name: string, schema: z.ZodType<T>, advice: string) {
  const pathIn = (dataDirectory: string) => join(dataDirectory, name)
  return {
    pathIn,
    /** Undefined before the first start. */
    async read(dataDirectory: string): Promise<T | undefined> {
      const path = pathIn(dataDirectory)
      try {
        return schema.parse(JSON.parse(await readFile(path, 'utf8')))
      } catch (cause) {
        if (errorCode(cause) === 'ENOENT') return undefined
        throw new StoreError(`${path}: cannot be read; ${advice}`, { cause })
      }
    },
    write: (dataDirectory: string, value: T) => writeFileAtomically(pathIn(dataDirectory), JSON.stringify(value)),
    remove: (dataDirectory: string) => rm(pathIn(dataDirectory), { force: true }),
  }
}

/** The id of the log that a data directory uses. */
export const logMarker = storedFile(
  'response-log.json',
  z.strictObject({ log_id: z.uuid() }),
  'start once with --new-log to write it again',
)

/** Every receiver that the data directory was used with, the newest last. Kept here in case the log is lost. */
export const usedReceivers = storedFile(
  'receivers.json',
  z.object({ receivers: z.array(z.string()) }),
  'restore it, or remove it if PAY_TO has never changed',
)
