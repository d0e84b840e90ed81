/** The actions of the command `keys`. Each prints its result and returns whether it succeeded. */
import { makeDirectory, readDirectory } from './directory.ts'
import { KeyError } from './errors.ts'
import { generateKey, nowInSeconds, type Clock } from './generate.ts'
import type { StoredKey } from './key-file.ts'
import { isPublished, keyStates, RETIRED_KEY_SECONDS_MIN, signsFromSeconds } from './lifecycle.ts'
import { rotateKeys } from './rotate.ts'

type KeysCommandOptions = {
  readonly directory: string
  /** Returns milliseconds since 1970. */
  readonly now: Clock
  readonly print: (line: string) => void
}

/** Creates the first key. Refuses if a signing key exists. */
export const generateFirstKey = printingKeyErrors(async ({ directory, now, print }) => {
  const [existing] = (await readDirectory(directory)).signing
  if (existing !== undefined) {
    print(`a signing key exists: ${existing.publicJwk.kid}. To replace it, run keys rotate`)
    return false
  }
  await makeDirectory(directory)
  const key = await generateKey({ directory, now })
  print(`made ${key.publicJwk.kid}`)
  return true
})

/** Creates the next key and prints from when it signs. */
export const rotateAndReport = printingKeyErrors(async ({ directory, now, print }) => {
  const { made, retired, removed } = await rotateKeys({ directory, now })
  print(`made ${made.publicJwk.kid}`)
  for (const kid of retired) print(`retired ${kid}`)
  for (const kid of removed) print(`removed ${kid}`)
  print(
    `a running service publishes the new key within a minute and signs with it from ${toIsoTime(signsFromSeconds(made))}`,
  )
  return true
})

/** Prints every key with its time and state. */
export const listKeys = printingKeyErrors(async ({ directory, now, print }) => {
  const atSeconds = nowInSeconds(now)
  const { current, pending, superseded, retired } = keyStates(await readDirectory(directory), atSeconds)
  if (current === undefined && retired.length === 0) print('no keys')
  if (current !== undefined) print(describeKey(current, 'current'))
  for (const key of pending) print(describeKey(key, `published, signs from ${toIsoTime(signsFromSeconds(key))}`))
  for (const { key, retiredAtSeconds } of superseded) print(describeKey(key, retiredState(retiredAtSeconds, atSeconds)))
  for (const key of retired) print(describeKey(key, retiredState(key.retiredAtSeconds, atSeconds)))
  return true
})

type KeysAction = (options: KeysCommandOptions) => Promise<boolean>

/** Prints the message of a KeyError as the result of the action. */
function printingKeyErrors(action: KeysAction): KeysAction {
  return async (options) => {
    try {
      return await action(options)
    } catch (error) {
      if (!(error instanceof KeyError)) throw error
      options.print(error.message)
      return false
    }
  }
}

function describeKey(key: StoredKey, state: string): string {
  return `${key.publicJwk.kid}  made ${toIsoTime(key.madeAtSeconds)}  ${state}`
}

function retiredState(retiredAtSeconds: number, atSeconds: number): string {
  const end = toIsoTime(retiredAtSeconds + RETIRED_KEY_SECONDS_MIN)
  const published = isPublished({ retiredAtSeconds }, atSeconds) ? `published until ${end}` : 'no longer published'
  return `retired ${toIsoTime(retiredAtSeconds)}, ${published}`
}

/** Formats seconds since 1970 as UTC without fractions. */
function toIsoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
