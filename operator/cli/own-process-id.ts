/**
 * LMDB tells processes apart by their ids, but a process in one container can have the id of a process in another. A
 * process whose id is taken in the data directory runs the program again in a child process, which has another id.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readerProcessIds } from '../../store/files/environment.ts'
import { catalogFolder } from '../../store/files/layout.ts'

/** Set for a child process of this module. */
const CHILD_VARIABLE = 'COMPANY_AGENT_CHILD'
/** The exit status of a child whose id is taken too (EX_TEMPFAIL). The next child has another id. */
const EXIT_ID_TAKEN = 75
/** More than the containers that share a volume. */
const CHILDREN_MAX = 100

type Environment = Record<string, string | undefined>

/**
 * Undefined if this process can use the data directory. Otherwise the exit status, after the program has run in a
 * child. `stop` resolves when a signal stops the program.
 */
export async function runInChildIfIdTaken(
  environment: Environment,
  dataDirectory: string,
  stop: Promise<unknown>,
): Promise<number | undefined> {
  const isTaken = (await readerProcessIds(catalogFolder(dataDirectory))).includes(process.pid)
  if (!isTaken) return undefined
  if (isChild(environment)) return EXIT_ID_TAKEN
  for (let children = 0; children < CHILDREN_MAX; children += 1) {
    const status = await runChild(environment, stop)
    if (status !== EXIT_ID_TAKEN) return status
  }
  throw new Error('DATA_DIR is used by a process with the id of this one, in another container')
}

/** Resolves when the parent ends or asks for a stop. Never in a process that is not a child of this module. */
export function stopOfParent(environment: Environment): Promise<string> {
  return new Promise((resolve) => {
    if (!isChild(environment)) return
    const stop = () => resolve('SIGTERM')
    // The channel can be closed before this process listens, for example by a signal during the start.
    if (process.connected) process.once('disconnect', stop)
    else stop()
  })
}

const isChild = (environment: Environment) => environment[CHILD_VARIABLE] === '1'

async function runChild(environment: Environment, stop: Promise<unknown>): Promise<number> {
  const child = fork(process.argv[1] ?? '', process.argv.slice(2), {
    env: { ...environment, [CHILD_VARIABLE]: '1' },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  // The channel and not a signal: a terminal or a service manager may have sent the signal to the child as well.
  void stop.then(() => child.connected && child.disconnect())
  const [status] = (await once(child, 'exit')) as [number | null]
  return status ?? 1
}
