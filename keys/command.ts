/** The command `keys`: makes, replaces and lists the keys that sign the agent card. */
import { makeDirectory, readDirectory } from './directory.ts'
import { KeyError } from './errors.ts'
import { generateKey, nowInSeconds, type Clock } from './generate.ts'
import { isPublished, RETIRED_KEY_SECONDS_MIN } from './keyring.ts'
import type { RetiredKey, StoredKey } from './key-file.ts'
import { rotateKeys } from './rotate.ts'

const USAGE = `usage: keys generate   make the first key
       keys rotate     make a new key and retire the current one
       keys list       show every key`

const EXIT_DONE = 0
const EXIT_REFUSED = 1
const EXIT_USAGE = 2

type Surroundings = {
  readonly directory: string
  readonly now: Clock
  readonly print: (line: string) => void
}

/**
 * Runs one key command and returns the exit code: 0 done, 1 refused, 2 wrong arguments.
 * @param options.now milliseconds since 1970
 */
export async function keysCommand(options: Surroundings & { readonly args: readonly string[] }): Promise<number> {
  const action = options.args.length === 1 ? actions.get(options.args[0] ?? '') : undefined
  if (action === undefined) {
    options.print(USAGE)
    return EXIT_USAGE
  }
  try {
    return await action(options)
  } catch (error) {
    if (!(error instanceof KeyError)) throw error
    options.print(error.message)
    return EXIT_REFUSED
  }
}

const actions: ReadonlyMap<string, (surroundings: Surroundings) => Promise<number>> = new Map([
  ['generate', generate],
  ['rotate', rotate],
  ['list', list],
])

async function generate({ directory, now, print }: Surroundings): Promise<number> {
  const { current } = await readDirectory(directory)
  if (current !== undefined) {
    print(`there is a key already: ${current.publicJwk.kid}. To replace it, run keys rotate`)
    return EXIT_REFUSED
  }
  await makeDirectory(directory)
  const key = await generateKey({ directory, now })
  print(`made ${key.publicJwk.kid}`)
  return EXIT_DONE
}

async function rotate({ directory, now, print }: Surroundings): Promise<number> {
  const { made, retired, removed } = await rotateKeys({ directory, now })
  print(`made ${made}`)
  for (const kid of retired) print(`retired ${kid}`)
  for (const kid of removed) print(`removed ${kid}`)
  print('a running service signs with the new key after a restart')
  return EXIT_DONE
}

async function list({ directory, now, print }: Surroundings): Promise<number> {
  const { current, alsoSigning, retired } = await readDirectory(directory)
  if (current === undefined && retired.length === 0) print('no keys')
  if (current !== undefined) printKey(print, current, 'current')
  for (const key of alsoSigning) printKey(print, key, 'not retired yet: run keys rotate')
  for (const key of retired) printKey(print, key, retiredState(key, nowInSeconds(now)))
  return EXIT_DONE
}

function printKey(print: Surroundings['print'], key: StoredKey, state: string): void {
  print(`${key.publicJwk.kid}  made ${timeText(key.madeAtSeconds)}  ${state}`)
}

function retiredState(key: RetiredKey, atSeconds: number): string {
  const end = timeText(key.retiredAtSeconds + RETIRED_KEY_SECONDS_MIN)
  const published = isPublished(key, atSeconds) ? `published until ${end}` : 'no longer published'
  return `retired ${timeText(key.retiredAtSeconds)}, ${published}`
}

/** Seconds since 1970 as UTC text without fractions. */
function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
