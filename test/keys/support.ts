/** Helpers of the key tests: a fixed clock and key files. */
import { chmod, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generateKey } from '../../keys/key-files.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'

export const START_SECONDS = 1_800_000_000

/** A fixed clock, in milliseconds, 999 ms after the given second. */
export const clockAt = (seconds: number) => () => seconds * 1000 + 999

/** Creates a key at the given second and returns its kid. */
export async function makeKeyAt(directory: string, seconds: number): Promise<string> {
  const { publicJwk } = await generateKey({ directory, now: clockAt(seconds) })
  return publicJwk.kid
}

export const pathOf = (directory: string, kid: string) => join(directory, `${kid}.jwk.json`)

export type Jwk = Record<string, unknown> & { kid: string; x: string; y: string; d: string }

export async function readJwk(directory: string, kid: string): Promise<Jwk> {
  return JSON.parse(await readFile(pathOf(directory, kid), 'utf8')) as Jwk
}

/** Writes a text to the key file of a kid, with mode 0600. */
export async function putKeyFile(directory: string, kid: string, text: string): Promise<string> {
  await writeFile(pathOf(directory, kid), text)
  await chmod(pathOf(directory, kid), 0o600)
  return pathOf(directory, kid)
}

export async function filesIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).toSorted()
}

/** A new response log with a clock that the test sets. */
export async function openTestLog(startSeconds: number) {
  const clock = { seconds: startSeconds }
  const log = new LmdbResponseLog(await makeTemporaryDirectory(), { now: () => new Date(clock.seconds * 1000) })
  return { log, clock }
}
