/** Reads a whole environment in a child process, to find out whether it is damaged. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StoreError } from './environment.ts'
import type { EnvironmentKind } from './layout.ts'

const READER = fileURLToPath(new URL('./read-environment.js', import.meta.url))

/** @throws StoreError if a value cannot be read */
export async function checkEnvironment(kind: EnvironmentKind, folder: string): Promise<void> {
  const reader = fork(READER, [folder, kind], { env: {}, stdio: 'ignore' })
  const [status] = (await once(reader, 'exit')) as [number | null]
  await rm(join(folder, 'lock.mdb'), { force: true })
  if (status !== 0) throw new StoreError(`${folder}: the copied environment is damaged; restore another backup`)
}
