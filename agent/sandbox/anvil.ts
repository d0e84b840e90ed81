/** The chain's process: Foundry's anvil, found, started quietly on a free port of the loopback, and ended. */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { rpc } from './rpc.ts'

/** A new chain is up in 50 ms; one that was saved after a day of idling in half a second. */
const START_MS_MAX = 15_000
/** Saving such a day takes a quarter of a second. */
const STOP_MS_MAX = 15_000
const POLL_MS = 20

/**
 * An empty block costs about 3 KB of memory and 1.5 KB of saved state: in this rhythm 22 and 11 MB a day, in Base's own of
 * 2 s six times as much.
 */
const BLOCK_SECONDS = 12

/**
 * Both by itself and at once for a transaction, so that final blocks move on in time: with epochs of one slot, two blocks
 * behind the latest. Cancun, because from Prague on every block writes its hash into a contract, which makes anvil's
 * copies of the state larger and slower with each block. State of the last 64 blocks only, none of it outside our folder.
 */
const RULES = [
  ['--block-time', `${BLOCK_SECONDS}`, '--mixed-mining', '--slots-in-an-epoch', '1'],
  ['--hardfork', 'cancun', '--prune-history', '64'],
  ['--host', '127.0.0.1', '--port', '0', '--no-cors', '--accounts', '0'],
].flat()

export interface Start {
  folder: string
  chainId: number
  /** A state saved earlier. */
  load: string | undefined
  /** Where the state is to be saved at the end; a name that no other run uses. */
  dump: string
}

/** @throws in one line when there is no anvil, or when it doesn't come up */
export async function startAnvil({ folder, chainId, load, dump }: Start): Promise<{ pid: number; url: string }> {
  const options = [...RULES, '--chain-id', `${chainId}`, '--dump-state', dump, ...(load ? ['--load-state', load] : [])]
  const errors = await open(join(folder, 'anvil.log'), 'w', 0o600)
  try {
    // A session of its own: Ctrl-C is for the service, which still needs the chain to finish what is in flight.
    const child = spawn(anvilPath(), options, { cwd: folder, detached: true, stdio: ['ignore', 'pipe', errors.fd] })
    try {
      const url = await listening(child)
      // From here on it prints nothing, and does not miss the pipe.
      await rpc(url, 'anvil_setLoggingEnabled', false)
      return { pid: child.pid as number, url }
    } catch (cause) {
      child.kill('SIGKILL')
      throw cause
    } finally {
      child.stdout?.destroy()
      child.unref()
    }
  } finally {
    await errors.close()
  }
}

/** Has the process save its state and end. What is too slow for that is killed. */
export async function endAnvil(pid: number): Promise<void> {
  signal(pid, 'SIGTERM')
  if (!(await isGone(pid))) await killAnvil(pid)
}

/** Ends it without a word: for a chain that nothing can be asked of. */
export async function killAnvil(pid: number): Promise<void> {
  signal(pid, 'SIGKILL')
  await isGone(pid)
}

export async function isAlive(pid: number): Promise<boolean> {
  if (!signal(pid, 0)) return false
  // A process that ended, but that its parent doesn't bury, is dead too. Elsewhere than on Linux we can't tell.
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return !/\) [ZX] /.test(status)
}

/** Whether the process was started with this argument; false where that can't be seen. */
export async function hasArgument(pid: number, argument: string): Promise<boolean> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return commandLine.split('\0').includes(argument)
}

async function isGone(pid: number): Promise<boolean> {
  for (let waited = 0; waited < STOP_MS_MAX; waited += POLL_MS) {
    if (!(await isAlive(pid))) return true
    await sleep(POLL_MS)
  }
  return false
}

/** False when there is no such process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

/** The line that names the port comes last of what anvil prints when it starts. */
function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`anvil was not ready in ${START_MS_MAX} ms`)), START_MS_MAX)
    const fail = (error: Error) => {
      clearTimeout(late)
      reject(error)
    }
    child.once('error', (cause) => fail(new Error(MISSING, { cause })))
    child.once('exit', (code) => fail(new Error(`anvil ended with ${code} before it was ready: see anvil.log`)))
    let printed = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      const address = /Listening on (127\.0\.0\.1:\d+)\s/.exec(printed)?.[1]
      if (address === undefined) return
      clearTimeout(late)
      resolve(`http://${address}`)
    })
  })
}

const NATIVE_PACKAGE = `@foundry-rs/anvil-${platform()}-${arch() === 'x64' ? 'amd64' : arch()}`
const MISSING = `the sandbox's chain needs anvil: npm install ${NATIVE_PACKAGE}, or put anvil (getfoundry.sh) on the PATH`

/** The package for this platform; else whatever the PATH has. */
function anvilPath(): string {
  const name = platform() === 'win32' ? 'anvil.exe' : 'anvil'
  try {
    const path = fileURLToPath(new URL(`bin/${name}`, import.meta.resolve(`${NATIVE_PACKAGE}/package.json`)))
    if (existsSync(path)) return path
  } catch {
    // Not installed.
  }
  return name
}
