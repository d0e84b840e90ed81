/** The process of the local chain: finds Foundry's anvil and starts it on a free loopback port. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A new chain starts in 50 ms, a saved chain with a day of empty blocks in half a second. */
const START_MS_MAX = 15_000
const POLL_MS = 20

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

/** In the directory of the chain: what anvil prints. */
const LOG_FILE = 'anvil.log'

/** Ends the process with the id $0 when the standard input of the shell ends, also because the parent was killed. */
const END_WITH_PARENT = 'read -r _; kill "$0"'

/**
 * Starts anvil in a directory. Anvil ignores Ctrl-C, because the service uses it until the service has stopped. Anvil
 * ends after this process, even if this process is killed.
 * @throws an error with a message of one line if anvil is missing or does not start
 */
export async function startAnvil(directory: string, options: readonly string[]) {
  // A pipe would end with this process, and anvil could not save its state.
  await using log = await open(join(directory, LOG_FILE), 'w', 0o600)
  const stdio = ['ignore' as const, log.fd, log.fd]
  const anvil = spawn(anvilPath(), [...ANVIL_OPTIONS, ...options], { cwd: directory, detached: true, stdio })
  await once(anvil, 'spawn').catch((cause: unknown) => {
    throw new Error(MISSING, { cause })
  })
  const watch = ['-c', END_WITH_PARENT, String(anvil.pid)]
  const watcher = spawn('/bin/sh', watch, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  // Without a shell, the chain of a killed service runs on.
  watcher.once('error', () => undefined)
  anvil.once('exit', () => watcher.kill())
  // This process may end without stopping the chain.
  anvil.unref()
  watcher.unref()
  for (let waited = 0; waited < START_MS_MAX && anvil.exitCode === null; waited += POLL_MS) {
    const [, address] =
      /Listening on (127\.0\.0\.1:\d+)\s/.exec(await readFile(join(directory, LOG_FILE), 'utf8')) ?? []
    if (address !== undefined) return { anvil, url: `http://${address}` }
    await sleep(POLL_MS)
  }
  anvil.kill('SIGKILL')
  throw new Error(`anvil did not start: see ${LOG_FILE}`)
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
