/** Acquires a process lock, prints the result, and runs until it is killed. */
import { acquireProcessLock } from '../../store/files/process-lock.ts'
import { readArguments } from '../support/arguments.ts'

const [folder = ''] = readArguments('FOLDER')
const lock = await acquireProcessLock(folder)
process.stdout.write(`ready ${lock ? 'acquired' : 'taken'}\n`)
setInterval(() => lock, 1_000)
