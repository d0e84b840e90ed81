/**
 * A lock that one process holds until it ends. It needs no release after a crash: LMDB removes ended processes from the
 * table of readers.
 */
import { openEnvironment, readerIdsOf } from './environment.ts'
import { HOLDER_KEY } from './layout.ts'

interface LockOptions {
  /** Used for this lock only. Opening it makes a process a reader, which the check of the holder relies on. */
  folder: string
  ownPid: number
}

/** `taken`: another process has the lock. */
export async function acquireProcessLock({
  folder,
  ownPid,
}: LockOptions): Promise<({ kind: 'acquired' } & AsyncDisposable) | { kind: 'taken' }> {
  // Opening reads a value, which adds this process to the table of readers. It stays there while the environment is
  // open.
  const environment = openEnvironment({ folder, kind: 'lock' })
  const isTaken = environment.transactionSync(() => {
    const holder = environment.get(HOLDER_KEY)
    if (typeof holder === 'number' && holder !== ownPid && readerIdsOf(environment).includes(holder)) return true
    environment.putSync(HOLDER_KEY, ownPid)
    return false
  })
  if (!isTaken) return { kind: 'acquired', [Symbol.asyncDispose]: () => environment.close() }
  await environment.close()
  return { kind: 'taken' }
}
