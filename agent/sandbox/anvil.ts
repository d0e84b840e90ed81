/** The process of the local chain: finds Foundry's anvil, starts it on a free loopback port, and ends it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openRpc, type Rpc } from '../rpc/json-rpc.ts'

/** A new chain starts in 50 ms, a saved chain with a day of empty blocks in half a second. */
const START_MS_MAX = 15_000
/** Saving a day of empty blocks takes a quarter of a second. */
const STOP_MS_MAX = 15_000
const POLL_MS = 20
/** The chain runs on this machine, so a slower reply means that it hangs. */
const RPC_MS_MAX = 5_000

/**
 * An empty block takes about 3 KB of memory and 1.5 KB of saved state, so this interval costs 22 MB and 11 MB a day.
 * The 2 s of Base would cost six times as much.
 */
const BLOCK_SECONDS = 12

/**
 * Mixed mining makes a block for each transaction and one per interval, so that the finalized block advances; with one
 * slot per epoch it is two blocks behind the latest. Cancun, because from Prague on each block writes its hash into a
 * contract, which makes anvil's copies of the state larger with each block. The state of the last 64 blocks is kept.
 */
const ANVIL_OPTIONS = [
  ['--block-time', `${BLOCK_SECONDS}`, '--mixed-mining', '--slots-in-an-epoch', '1'],
  ['--hardfork', 'cancun', '--prune-history', '64'],
  ['--host', '127.0.0.1', '--port', '0', '--no-cors', '--accounts', '0'],
].flat()

/** JSON-RPC to the local chain. */
export function chainRpc(url: string): Rpc {
  return openRpc({ url, timeoutMs: RPC_MS_MAX })
}

interface AnvilOptions {
  folder: string
  chainId: number
  /** The file of a saved state in `folder`, or undefined for a new chain. */
  load: string | undefined
  /** The file in `folder` to which anvil saves its state when it exits. The name is unique. */
  dump: string
}

/** @throws an error with a message of one line if anvil is missing or does not start */
export async function startAnvil({ folder, chainId, load, dump }: AnvilOptions): Promise<{ pid: number; url: string }> {
  const state = ['--dump-state', dump, ...(load === undefined ? [] : ['--load-state', load])]
  const options = [...ANVIL_OPTIONS, '--chain-id', `${chainId}`, ...state]
  await using errors = await open(join(folder, 'anvil.log'), 'w', 0o600)
  // Detached, so that Ctrl-C reaches the service only, which needs the chain for payments in progress.
  const child = spawn(anvilPath(), options, { cwd: folder, detached: true, stdio: ['ignore', 'pipe', errors.fd] })
  try {
    const url = await waitForUrl(child)
    // The pipe is closed below, so anvil must not write its log to it.
    await chainRpc(url)('anvil_setLoggingEnabled', [false])
    return { pid: child.pid as number, url }
  } catch (cause) {
    child.kill('SIGKILL')
    throw cause
  } finally {
    child.stdout?.destroy()
    child.unref()
  }
}

/** Asks anvil to save its state and to exit. Kills it if that takes too long. */
export async function endAnvil(pid: number): Promise<void> {
  signal(pid, 'SIGTERM')
  if (!(await isGone(pid))) await killAnvil(pid)
}

/** Kills anvil without saving its state. */
export async function killAnvil(pid: number): Promise<void> {
  signal(pid, 'SIGKILL')
  await isGone(pid)
}

export async function isAlive(pid: number): Promise<boolean> {
  if (!signal(pid, 0)) return false
  // A zombie counts as dead. Only Linux shows the state in /proc.
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return !/\) [ZX] /.test(status)
}

/** Whether the process was started with this argument. False on systems without /proc. */
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

/** Returns false if the process does not exist. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

/** The line with the port is the last one that anvil prints at its start. */
function waitForUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`anvil did not start within ${START_MS_MAX} ms`)), START_MS_MAX)
    const fail = (error: Error) => {
      clearTimeout(late)
      reject(error)
    }
    child.once('error', (cause) => fail(new Error(MISSING, { cause })))
    child.once('exit', (code) => fail(new Error(`anvil exited with status ${code} before it was ready: see anvil.log`)))
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
const MISSING =
  'The sandbox needs anvil, a development dependency: run npm ci without --omit=dev, or install anvil (getfoundry.sh) on the PATH'

/** The binary of the package for this platform, otherwise the one on the PATH. */
function anvilPath(): string {
  const name = platform() === 'win32' ? 'anvil.exe' : 'anvil'
  try {
    const path = fileURLToPath(new URL(`bin/${name}`, import.meta.resolve(`${NATIVE_PACKAGE}/package.json`)))
    if (existsSync(path)) return path
  } catch {
    // The package is not installed.
  }
  return name
}
