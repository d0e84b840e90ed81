/** Temporary directories. The root hook in hooks.ts removes them after a test file, and `bench` at its end. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made: string[] = []

export async function makeTemporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'test-'))
  made.push(directory)
  return directory
}

export async function removeTemporaryDirectories(): Promise<void> {
  for (const directory of made.splice(0)) await rm(directory, { recursive: true, force: true })
}
