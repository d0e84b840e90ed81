/** The commands `keys rotate` and `keys compromise` beside a running service with a log in LMDB. */
import { join } from 'node:path'
import { compromiseKeys, rotateKeys } from '../../keys/command.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'

/** Runs one command at the time `now`, in milliseconds. Returns its lines. */
async function run(action: typeof rotateKeys, dataDirectory: string, now: () => number, kids: string[] = []) {
  const lines: string[] = []
  const log = new LmdbResponseLog(dataDirectory, { now: () => new Date(now()) })
  try {
    const print = (line: string) => void lines.push(line)
    await action({ directory: join(dataDirectory, 'keys'), log, now, print, kids })
  } finally {
    await log.close()
  }
  return lines
}

/** Returns the kid of the new key. */
export async function rotateBeside(dataDirectory: string, now: () => number): Promise<string> {
  const [made = ''] = await run(rotateKeys, dataDirectory, now)
  return made.replace('made ', '')
}

export async function compromiseBeside(dataDirectory: string, kids: string[], now: () => number): Promise<void> {
  await run(compromiseKeys, dataDirectory, now, kids)
}
