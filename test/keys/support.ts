/** What the key tests share: a temporary directory, a fixed clock, key files to spoil, and errors to look into. */
import { chmod, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { KeyError } from '../../keys/errors.ts'
import { generateKey } from '../../keys/generate.ts'

export const START_SECONDS = 1_800_000_000

/** A clock that stands still, in milliseconds, a fraction past the given second. */
export const clockAt = (seconds: number) => () => seconds * 1000 + 999

/** Gives a test a directory of mode 0700 and removes it afterwards. */
export async function inTemporaryDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'keys-test-'))
  try {
    await test(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Makes a key at the given second and returns its kid. */
export async function makeKeyAt(directory: string, seconds: number): Promise<string> {
  const { publicJwk } = await generateKey({ directory, now: clockAt(seconds) })
  return publicJwk.kid
}

export const pathOf = (directory: string, kid: string) => join(directory, `${kid}.jwk.json`)

export type Jwk = Record<string, unknown> & { kid: string; x: string; y: string; d: string }

export async function readJwk(directory: string, kid: string): Promise<Jwk> {
  return JSON.parse(await readFile(pathOf(directory, kid), 'utf8')) as Jwk
}

/** Writes any text as the key file of a kid, mode 0600. */
export async function putKeyFile(directory: string, kid: string, text: string): Promise<string> {
  await writeFile(pathOf(directory, kid), text)
  await chmod(pathOf(directory, kid), 0o600)
  return pathOf(directory, kid)
}

export async function filesIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).toSorted()
}

export async function rejection(promise: Promise<unknown>): Promise<Error> {
  return await promise.then(
    () => expect.fail('it is accepted'),
    (error: unknown) => {
      expect(error).to.be.instanceOf(Error)
      return error as Error
    },
  )
}

/** The KeyError of a refusal: one line that names the place and the rule, without any piece of the secrets. */
export async function expectKeyError(
  promise: Promise<unknown>,
  expected: { path: string; rule: RegExp; secrets?: readonly string[] },
): Promise<void> {
  const error = await rejection(promise)
  expect(error).to.be.instanceOf(KeyError)
  expect(error.message).to.include(expected.path).and.to.match(expected.rule).and.not.to.include('\n')
  const everything = inspect(error, { depth: Infinity, showHidden: true })
  for (const secret of expected.secrets ?? []) expectNoPiece(everything, secret)
}

/** No six characters of the secret in a row. */
function expectNoPiece(text: string, secret: string): void {
  for (let at = 0; at + 6 <= secret.length; at += 1) expect(text).not.to.include(secret.slice(at, at + 6))
}
