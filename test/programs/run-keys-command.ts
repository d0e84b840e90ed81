/** Runs `keys rotate` or `keys compromise` at a time: COMMAND DATA_DIR MILLISECONDS [KID ...]. */
import { join } from 'node:path'
import { compromiseKeys, rotateKeys } from '../../keys/command.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { readArguments } from '../support/arguments.ts'

const [command, dataDirectory = '', milliseconds, ...kids] = readArguments('COMMAND DATA_DIR MILLISECONDS [KID...]')
const now = () => Number(milliseconds)
const log = new LmdbResponseLog(dataDirectory, { now: () => new Date(now()) })
const print = (line: string) => void process.stdout.write(`${line}\n`)
const run = command === 'rotate' ? rotateKeys : compromiseKeys
await run({ directory: join(dataDirectory, 'keys'), log, now, print, kids })
await log.close()
