/**
 * A lock that one process holds until it ends. It needs no release after a crash: LMDB removes ended processes from the
 * table of readers.
 */
import { openEnvironment, readerIdsOf } from './environment.ts'

/** Undefined if another process has the lock. The folder is used for this lock only. */
export async function acquireProcessLock(folder: string) {
  // Opening reads a value, which adds this process to the table of readers while the environment is open.
  const environment = openEnvironment({ folder, kind: 'lock' })
  const isTaken = environment.transactionSync(() => {
    const holder = environment.get('holder')
    if (typeof holder === 'number' && holder !== process.pid && readerIdsOf(environment).includes(holder)) return true
    environment.putSync('holder', process.pid)
    return false
  })
  if (!isTaken) return { [Symbol.asyncDispose]: () => environment.close() }
  await environment.close()
  return undefined
}
