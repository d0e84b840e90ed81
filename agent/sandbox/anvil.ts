/**
 * The process of the local chain: finds Foundry's anvil and starts it on a free loopback port. Imports no library,
 * because it is loaded in a process of its own at each start of the sandbox.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { fileURLToPath } from 'node:url'

/** A new chain starts in 50 ms, a saved chain with a day of empty blocks in half a second. */
const START_MS_MAX = 15_000

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

/** Exists in the directory of the chain while it runs. If its processes have ended, the chain was lost with them. */
export const RECORD_FILE = 'chain.json'
/** The state of a chain that does not run. It is removed when a chain continues from it, so that it is loaded once. */
export const stateFile = (chainId: number | string) => `state-${chainId}.json`

/** Starts anvil in the working directory. Its errors are those of this process. */
export function startAnvil(options: readonly string[]): { child: ChildProcess; url: Promise<string> } {
  const child = spawn(anvilPath(), [...ANVIL_OPTIONS, ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
  return { child, url: waitForUrl(child) }
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
      // The log that follows is read and discarded.
      child.stdout?.removeAllListeners('data').resume()
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
