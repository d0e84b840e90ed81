/** The actions of the command `keys`. Each prints its result. A refusal is a KeyError. */
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
export async function generateFirstKey({ directory, now, print }: KeysCommandOptions): Promise<void> {
  await makeDirectory(directory)
  await changeKeys(directory, async ({ signing: [existing] }) => {
    if (existing) throw new KeyError(`a signing key exists: ${existing.publicJwk.kid}. To replace it, run keys rotate`)
    const key = await generateKey({ directory, now })
    print(`made ${key.publicJwk.kid}`)
  })
}

/** Creates the next key and prints from when it signs. */
export async function rotateAndReport({ directory, now, print }: KeysCommandOptions): Promise<void> {
  const { made, retired } = await rotateKeys({ directory, now })
  print(`made ${made.publicJwk.kid}`)
  for (const kid of retired) print(`retired ${kid}`)
  print(
    `a running service publishes the new key within a minute and signs with it from ${toIsoTime(signsFromSeconds(made))}`,
  )
}

/** Marks keys as compromised and prints which key signs now. */
export async function compromiseAndReport({ directory, now, print, kids = [] }: KeysCommandOptions): Promise<void> {
  const { made, retired } = await compromiseKeys({ directory, kids, now })
  for (const kid of kids) print(`marked ${kid} as compromised`)
  for (const kid of retired) print(`retired ${kid}`)
  if (made) print(`made ${made.publicJwk.kid}`)
  const { current } = keyStates(await readDirectory(directory), nowInSeconds(now))
  if (current) print(`a running service signs with ${current.publicJwk.kid} within a minute`)
}

/** Prints every key with its time and state. */
export async function listKeys({ directory, now, print }: KeysCommandOptions): Promise<void> {
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
}

function describeKey(key: StoredKey, state: string): string {
  return `${key.publicJwk.kid}  made ${toIsoTime(key.madeAtSeconds)}  ${state}`
}
