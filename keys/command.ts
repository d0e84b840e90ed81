/** The actions of the command `keys`. Each prints its result and returns whether it succeeded. */
import { makeDirectory, readDirectory } from './directory.ts'
import { KeyError } from './errors.ts'
import { generateKey, nowInSeconds, type Clock } from './generate.ts'
import { isPublished, RETIRED_KEY_SECONDS_MIN } from './keyring.ts'
import type { RetiredKey, StoredKey } from './key-file.ts'
import { rotateKeys } from './rotate.ts'

type KeysCommandOptions = {
  readonly directory: string
  /** Returns milliseconds since 1970. */
  readonly now: Clock
  readonly print: (line: string) => void
}

/** Creates the first key. Refuses if a signing key exists. */
export const generateFirstKey = printingKeyErrors(async ({ directory, now, print }) => {
  const { current } = await readDirectory(directory)
  if (current !== undefined) {
    print(`a signing key exists: ${current.publicJwk.kid}. To replace it, run keys rotate`)
    return false
  }
  await makeDirectory(directory)
  const key = await generateKey({ directory, now })
  print(`made ${key.publicJwk.kid}`)
  return true
})

/** Creates a new key and retires the current one. */
export const rotateAndReport = printingKeyErrors(async ({ directory, now, print }) => {
  const { made, retired, removed } = await rotateKeys({ directory, now })
  print(`made ${made}`)
  for (const kid of retired) print(`retired ${kid}`)
  for (const kid of removed) print(`removed ${kid}`)
  print('a running service signs with the new key after a restart')
  return true
})

/** Prints every key with its time and state. */
export const listKeys = printingKeyErrors(async ({ directory, now, print }) => {
  const { current, alsoSigning, retired } = await readDirectory(directory)
  if (current === undefined && retired.length === 0) print('no keys')
  if (current !== undefined) print(describeKey(current, 'current'))
  for (const key of alsoSigning) print(describeKey(key, 'not retired yet: run keys rotate'))
  for (const key of retired) print(describeKey(key, retiredState(key, nowInSeconds(now))))
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

function retiredState(key: RetiredKey, atSeconds: number): string {
  const end = toIsoTime(key.retiredAtSeconds + RETIRED_KEY_SECONDS_MIN)
  const published = isPublished(key, atSeconds) ? `published until ${end}` : 'no longer published'
  return `retired ${toIsoTime(key.retiredAtSeconds)}, ${published}`
}

/** Formats seconds since 1970 as UTC without fractions. */
function toIsoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
