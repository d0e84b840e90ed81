/** Acquires a process lock, prints the result, and runs until it is killed. */
import { acquireProcessLock } from '../../store/files/process-lock.ts'

const lock = await acquireProcessLock({ folder: process.argv[2] ?? '', ownPid: process.pid })
process.stdout.write(`ready ${lock ? 'acquired' : 'taken'}\n`)
setInterval(() => lock, 1_000)
