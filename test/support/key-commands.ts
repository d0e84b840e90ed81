/**
 * The commands `keys rotate` and `keys compromise` beside a running service with a log in LMDB, in a process of their
 * own: LMDB blocks a process that opens an environment for writing while another one of its transactions runs.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const PROGRAM = fileURLToPath(new URL('../programs/run-keys-command.js', import.meta.url))
const RUN_MS_MAX = 60_000

async function run(...args: string[]): Promise<string> {
  // A key id can begin with a hyphen.
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, '--', ...args], { timeout: RUN_MS_MAX })
  return stdout
}

/** Returns the kid of the new key, which is made at the time `now`, in milliseconds. */
export async function rotateBeside(dataDirectory: string, now: () => number): Promise<string> {
  const [, made = ''] = /^made (.+)$/m.exec(await run('rotate', dataDirectory, String(now()))) ?? []
  return made
}

export async function compromiseBeside(dataDirectory: string, kids: string[], now: () => number): Promise<void> {
  await run('compromise', dataDirectory, String(now()), ...kids)
}
