/** Helpers of the key tests: a fixed clock, key files and the check of a KeyError. */
import { chmod, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { KeyError } from '../../keys/errors.ts'
import { generateKey } from '../../keys/generate.ts'
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

async function rejection(promise: Promise<unknown>): Promise<Error> {
  return await promise.then(
    () => expect.fail('the promise was fulfilled'),
    (error: unknown) => {
      expect(error).to.be.instanceOf(Error)
      return error as Error
    },
  )
}

/** Expects a KeyError of one line that names the path and the rule and contains no part of the secrets. */
export async function expectKeyError(
  promise: Promise<unknown>,
  expected: { path: string; rule: RegExp; secrets?: readonly string[] },
): Promise<void> {
  const error = await rejection(promise)
  expect(error).to.be.instanceOf(KeyError)
  expect(error.message).to.include(expected.path).and.to.match(expected.rule).and.not.to.include('\n')
  const dump = inspect(error, { depth: Infinity, showHidden: true })
  for (const secret of expected.secrets ?? []) expectNoPart(dump, secret)
}

/** Expects no six consecutive characters of the secret. */
function expectNoPart(text: string, secret: string): void {
  for (let at = 0; at + 6 <= secret.length; at += 1) expect(text).not.to.include(secret.slice(at, at + 6))
}
