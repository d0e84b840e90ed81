/**
 * What a data directory knows of its response log: the log's id, in a file named the marker, and the receivers that the
 * directory was used with. A start compares both with the owner of the log (agent/service/check-log-owner.ts).
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { writeFileAtomically } from '../files/atomic-file.ts'
import { StoreError } from '../files/environment.ts'
import { errorCode } from '../../base/error-code.ts'

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
