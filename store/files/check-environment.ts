/** Reads a whole environment in a child process, to find out whether it is damaged. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rm, stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { dataFile, StoreError } from './environment.ts'
import type { EnvironmentKind } from './layout.ts'

const READER = fileURLToPath(new URL('./read-environment.js', import.meta.url))
/** For the start of the child. */
const START_MS_MAX = 60_000
/** 10 MB/s. A slow disk reads several times as much. */
const BYTES_PER_MS_MIN = 10_000

/**
 * A damaged page can lead the reader in a circle, so it has a deadline.
 * @throws StoreError if a value cannot be read
 */
export async function checkEnvironment(
  kind: EnvironmentKind,
  folder: string,
  startMsMax = START_MS_MAX,
): Promise<void> {
  const { size } = await stat(dataFile(folder))
  const timeout = startMsMax + Math.ceil(size / BYTES_PER_MS_MIN)
  const reader = fork(READER, [folder, kind], { env: {}, stdio: 'ignore', timeout, killSignal: 'SIGKILL' })
  const [status] = (await once(reader, 'exit')) as [number | null]
  await rm(join(folder, 'lock.mdb'), { force: true })
  if (status !== 0) throw new StoreError(`${folder}: the copied environment is damaged; restore another backup`)
}
