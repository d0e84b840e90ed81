/**
 * Ends the chain when no service uses it any more, also when the services were killed. Each service has a file with its
 * process id, and a shell outside of the services reads these files.
 */
import { spawn } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PRIVATE_DIRECTORY_MODE } from '../../store/files/private-files.ts'

const USERS_FOLDER = 'users'

/** Between two readings of the files. A restart within this time finds the chain running. */
const POLL_SECONDS = 2

/** The argument is the process id of anvil. SIGTERM makes anvil save its state. Runs in the directory, which can be moved. */
const SCRIPT = `
while kill -0 "$1" 2>/dev/null; do
  sleep ${POLL_SECONDS}
  used=
  for file in ${USERS_FOLDER}/*; do
    [ -e "$file" ] || continue
    if kill -0 "\${file##*/}" 2>/dev/null; then used=1; else rm -f "$file"; fi
  done
  [ -n "$used" ] || kill -TERM "$1" 2>/dev/null
done`

/** Called before the chain is looked for, so that it does not end meanwhile. */
export async function addUser(directory: string): Promise<void> {
  const folder = join(directory, USERS_FOLDER)
  await mkdir(folder, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
  await writeFile(join(folder, String(process.pid)), '', { mode: 0o600 })
}

export async function removeUser(directory: string): Promise<void> {
  await rm(join(directory, USERS_FOLDER, String(process.pid)), { force: true })
}

/** On Windows a chain whose service was killed keeps running. */
export function watchUsers(directory: string, pid: number): void {
  if (process.platform === 'win32') return
  // Without it the chain runs, and only a killed service leaves it behind.
  spawn('sh', ['-c', SCRIPT, 'sh', String(pid)], { cwd: directory, detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref()
}
