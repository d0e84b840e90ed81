/**
 * Marks keys as compromised. After a crash at any point the directory has a key that can sign, and a repetition
 * completes the command.
 *
 * 1. take the lock; read and check every key
 * 2. create a new key if each current and pending key is to be marked
 * 3. retire the superseded keys. They still have a private part, and would sign again once the current key is marked
 * 4. overwrite each marked key with its public part and the time
 */
import type { DirectoryKeys } from './directory.ts'
import { throwKeyError } from './errors.ts'
import { generateKey, nowInSeconds } from './generate.ts'
import { writeKeyFile, type StoredKey } from './key-file.ts'
import { keyStates, retireKey } from './lifecycle.ts'
import { changeKeys } from './lock.ts'

interface CompromiseOptions {
  directory: string
  kids: readonly string[]
  /** Milliseconds since 1970. */
  now: () => number
}

/**
 * A key that is marked already keeps its time. Returns the new key, if one had to be created, and the kids of the
 * superseded keys whose private parts were erased.
 * @throws KeyError if a kid is unknown, or if a file cannot be written
 */
export function compromiseKeys(options: CompromiseOptions) {
  return changeKeys(options.directory, (keys) => compromise(options, keys))
}

async function compromise({ directory, kids, now }: CompromiseOptions, keys: DirectoryKeys) {
  const atSeconds = nowInSeconds(now)
  const marked = kids.map((kid) => findKey(directory, keys, kid)).filter(({ kind }) => kind !== 'compromised')
  const isNamed = ({ publicJwk }: StoredKey) => kids.includes(publicJwk.kid)
  const { current, pending, superseded } = keyStates(keys, atSeconds)
  const hasOther = current !== undefined && [current, ...pending].some((key) => !isNamed(key))
  const made = hasOther ? undefined : await generateKey({ directory, now })
  const retired = superseded.filter(({ key }) => !isNamed(key))
  for (const key of retired) await retireKey(directory, key)
  for (const { publicJwk, madeAtSeconds } of marked)
    await writeKeyFile(directory, { ...publicJwk, iat: madeAtSeconds, compromised_at: atSeconds })
  return { made, retired: retired.map(({ key }) => key.publicJwk.kid) }
}

function findKey(directory: string, { signing, retired, compromised }: DirectoryKeys, kid: string): StoredKey {
  const key = [...signing, ...retired, ...compromised].find(({ publicJwk }) => publicJwk.kid === kid)
  return key ?? throwKeyError(directory, `has no key ${JSON.stringify(kid)}`)
}
