/** The actions of the command `keys`. Each prints its result and returns whether it succeeded. */
import { compromiseKeys } from './compromise.ts'
import { makeDirectory, readDirectory } from './directory.ts'
import { KeyError } from './errors.ts'
import { generateKey, nowInSeconds, toIsoTime } from './generate.ts'
import type { StoredKey } from './key-file.ts'
import { keyStates, signsFromSeconds } from './lifecycle.ts'
import { changeKeys } from './lock.ts'
import { rotateKeys } from './rotate.ts'

type KeysCommandOptions = {
  readonly directory: string
  /** Returns milliseconds since 1970. */
  readonly now: () => number
  readonly print: (line: string) => void
  /** The ids that the user has named. */
  readonly kids?: readonly string[]
}

/** Creates the first key. Refuses if a signing key exists. */
export const generateFirstKey = printingKeyErrors(async ({ directory, now, print }) => {
  await makeDirectory(directory)
  return changeKeys(directory, async ({ signing: [existing] }) => {
    if (existing !== undefined) {
      print(`a signing key exists: ${existing.publicJwk.kid}. To replace it, run keys rotate`)
      return false
    }
    const key = await generateKey({ directory, now })
    print(`made ${key.publicJwk.kid}`)
    return true
  })
})

/** Creates the next key and prints from when it signs. */
export const rotateAndReport = printingKeyErrors(async ({ directory, now, print }) => {
  const { made, retired } = await rotateKeys({ directory, now })
  print(`made ${made.publicJwk.kid}`)
  for (const kid of retired) print(`retired ${kid}`)
  print(
    `a running service publishes the new key within a minute and signs with it from ${toIsoTime(signsFromSeconds(made))}`,
  )
  return true
})

/** Marks keys as compromised and prints which key signs now. */
export const compromiseAndReport = printingKeyErrors(async ({ directory, now, print, kids = [] }) => {
  const { made, retired } = await compromiseKeys({ directory, kids, now })
  for (const kid of kids) print(`marked ${kid} as compromised`)
  for (const kid of retired) print(`retired ${kid}`)
  if (made) print(`made ${made.publicJwk.kid}`)
  const { current } = keyStates(await readDirectory(directory), nowInSeconds(now))
  if (current) print(`a running service signs with ${current.publicJwk.kid} within a minute`)
  return true
})

/** Prints every key with its time and state. */
export const listKeys = printingKeyErrors(async ({ directory, now, print }) => {
  const atSeconds = nowInSeconds(now)
  const keys = await readDirectory(directory)
  const { current, pending, superseded, retired } = keyStates(keys, atSeconds)
  if (current === undefined && retired.length + keys.compromised.length === 0) print('no keys')
  if (current !== undefined) print(describeKey(current, 'current'))
  for (const key of pending) print(describeKey(key, `published, signs from ${toIsoTime(signsFromSeconds(key))}`))
  for (const { key, retiredAtSeconds } of superseded) print(describeKey(key, `retired ${toIsoTime(retiredAtSeconds)}`))
  for (const key of retired) print(describeKey(key, `retired ${toIsoTime(key.retiredAtSeconds)}`))
  for (const key of keys.compromised)
    print(describeKey(key, `compromised ${toIsoTime(key.compromisedAtSeconds)}, not published`))
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
