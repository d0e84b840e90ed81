/** The actions of the command `keys`. Each prints its result. A refusal is a KeyError. */
import { removeOldUnfinished } from '../store/files/atomic-file.ts'
import { generateKey, nowInSeconds, readDirectory, throwKeyError } from './key-files.ts'
import { announceKey, readPublicKeys } from '../store/log/public-keys.ts'
import { announceKeys, selectSigner, signsFromSeconds, toIsoTime } from './keyring.ts'

/** Bounds the key set, which keeps every key: at most 53 keys of 210 bytes a year for each machine. */
export const ROTATION_SECONDS_MIN = 7 * 24 * 60 * 60

type KeysCommandOptions = {
  readonly directory: string
  readonly log: Parameters<typeof announceKeys>[0]
  /** Returns milliseconds since 1970. */
  readonly now: () => number
  readonly print: (line: string) => void
  /** The ids that the user has named. */
  readonly kids?: readonly string[]
}

/** Creates the first key. Refuses if the directory has a key. */
export async function generateFirstKey(options: KeysCommandOptions): Promise<void> {
  const { directory } = options
  const [key] = await readDirectory(directory)
  if (key) throwKeyError(directory, `has the key ${key.publicJwk.kid}: to replace it, run keys rotate`)
  await makeKey(options)
}

/** Creates the next key and prints from when it signs. */
export async function rotateKeys(options: KeysCommandOptions): Promise<void> {
  const { directory, now } = options
  const [newest] = await readDirectory(directory)
  if (!newest) return throwKeyError(directory, 'has no key to replace: run the command keys generate')
  const nextSeconds = newest.madeAtSeconds + ROTATION_SECONDS_MIN
  if (nowInSeconds(now) < nextSeconds) {
    const [made, next] = [newest.madeAtSeconds, nextSeconds].map(toIsoTime)
    throwKeyError(directory, `has a key of ${made}: the next rotation is possible at ${next}`)
  }
  await removeOldUnfinished({ folder: directory, now: new Date(now()) })
  const signsFrom = toIsoTime(signsFromSeconds(await makeKey(options)))
  options.print(`every machine publishes it within a minute, and this one signs with it from ${signsFrom}`)
}

async function makeKey({ directory, log, now, print }: KeysCommandOptions) {
  const key = await generateKey({ directory, now })
  await announceKeys(log, [key])
  print(`made ${key.publicJwk.kid}`)
  return key
}

/** Marks keys of any machine as compromised. A key that is marked already keeps its time. */
export async function compromiseKeys({ directory, log, now, print, kids = [] }: KeysCommandOptions): Promise<void> {
  const announced = await announceKeys(log, await readDirectory(directory))
  const keys = kids.map((kid) => announced.get(kid) ?? throwKeyError(directory, `has no key ${JSON.stringify(kid)}`))
  const compromised_at = toIsoTime(nowInSeconds(now))
  for (const { kid, jwk } of keys) {
    await announceKey(log, { kid, jwk, compromised_at })
    print(`marked ${kid} as compromised`)
  }
  print('a machine that signs with it takes another key within a minute')
}

/** Prints every key of the log with its state, newest first. */
export async function listKeys({ directory, log, now, print }: KeysCommandOptions): Promise<void> {
  const own = await readDirectory(directory)
  const announced = new Map((await readPublicKeys(log)).map((key) => [key.kid, key]))
  const signer = selectSigner(own, announced, now())
  const pending = own.slice(0, signer ? own.indexOf(signer) : 0)
  for (const { kid, announced_at, compromised_at } of [...announced.values()].toReversed()) {
    const next = pending.find(({ publicJwk }) => publicJwk.kid === kid)
    const state =
      compromised_at !== null
        ? `compromised ${compromised_at}, not published`
        : kid === signer?.publicJwk.kid
          ? 'published, signs on this machine'
          : next
            ? `published, signs from ${toIsoTime(signsFromSeconds(next))}`
            : 'published'
    print(`${kid}  announced ${announced_at}  ${state}`)
  }
  if (announced.size === 0) print('no keys')
}
