/**
 * The local chain, which survives a stop and a crash of the service. chain.json records its process or its saved state. It
 * says "running" before the URL of a loaded chain is returned, because loading the same saved state again would undo
 * payments that the response log records.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { writeFileAtomically } from '../../store/files/atomic-file.ts'
import { PRIVATE_DIRECTORY_MODE } from '../../store/files/private-files.ts'
import { chainRpc, endAnvil, hasArgument, isAlive, killAnvil, startAnvil } from './anvil.ts'
import { readIfExists } from './read-if-exists.ts'
import { addUser, removeUser, watchUsers } from './watch-users.ts'
import { isPrepared } from './prepare-chain.ts'

export interface LocalChain {
  url: string
  /** Whether the chain was never prepared or used. Records of an earlier chain are then void. */
  fresh: boolean
  /** Saves the chain and ends anvil. */
  stop(): Promise<void>
}

interface ChainOptions {
  directory: string
  chainId: number
}

/** A unique name in the directory of the chain. Without a path, so that the directory can be moved. */
const STATE_FILE = /^state-[-0-9a-f]{36}\.json$/
const stateFile = z.string().regex(STATE_FILE)

const anvilSchema = z.object({
  pid: z.int().positive(),
  url: z.string(),
  chainId: z.int(),
  /** The random instance id of this anvil process. */
  instance: z.string(),
  /** The file to which it saves its state when it exits. */
  dump: stateFile,
})
type AnvilRecord = z.infer<typeof anvilSchema>

const savedSchema = z.object({ chainId: z.int(), dump: stateFile, sha256: z.string() })

const chainSchema = z.discriminatedUnion('state', [
  z.object({ state: z.enum(['running', 'ending']), anvil: anvilSchema }),
  z.object({ state: z.literal('saved'), saved: savedSchema }),
])
type ChainRecord = z.infer<typeof chainSchema>

const metadataSchema = z.object({ chainId: z.int(), instanceId: z.string() })

/** Uses the running chain, loads the saved chain, or starts a new one. */
export async function startChain({ directory, chainId }: ChainOptions): Promise<LocalChain> {
  const options = { directory: resolve(directory), chainId }
  await mkdir(options.directory, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
  await addUser(options.directory)
  const anvil = (await continueChain(options, await readRecord(options))) ?? (await start(options, undefined))
  // Read from the chain, so a service that is killed before it prepares a new chain finds it fresh at the next start.
  const fresh = !(await isPrepared(anvil.url))
  let stopped: Promise<void> | undefined
  return { url: anvil.url, fresh, stop: () => (stopped ??= stop(options, anvil)) }
}

/**
 * Continues the chain that chain.json records. Returns undefined if a new chain must be started.
 *
 *   chain.json                      meaning                                action
 *   running, and anvil answers      the service was killed                 uses the running chain
 *   running, and it does not        no service used the chain, or it hangs ends it, then reads again
 *   ending                          the service was killed during a stop   finishes the stop, then reads again
 *   saved, and the state is intact  the service was stopped                loads the state
 *   anything else                                                          returns undefined
 */
async function continueChain(options: ChainOptions, chain: ChainRecord | undefined): Promise<AnvilRecord | undefined> {
  switch (chain?.state) {
    case 'ending':
      await finish(options, chain.anvil)
      return continueChain(options, await readRecord(options))
    case 'running':
      return (await useRunning(options, chain.anvil)) ?? (await useEnded(options, chain.anvil))
    case 'saved':
      return load(options, chain.saved)
    default:
      return undefined
  }
}

async function useRunning({ chainId }: ChainOptions, anvil: AnvilRecord): Promise<AnvilRecord | undefined> {
  return anvil.chainId === chainId && (await answers(anvil)) ? anvil : undefined
}

/** Loads the state of a chain that was ended because no service used it. Kills an anvil that hangs. */
async function useEnded(options: ChainOptions, anvil: AnvilRecord): Promise<AnvilRecord | undefined> {
  if ((await isAlive(anvil.pid)) && (await hasArgument(anvil.pid, anvil.dump))) await endAnvil(anvil.pid)
  await finish(options, anvil)
  return continueChain(options, await readRecord(options))
}

async function load(options: ChainOptions, saved: z.infer<typeof savedSchema>): Promise<AnvilRecord | undefined> {
  if (saved.chainId !== options.chainId) return undefined
  try {
    return (await sealState(join(options.directory, saved.dump))) === saved.sha256
      ? await start(options, saved.dump)
      : undefined
  } catch {
    return undefined
  }
}

/** Starts anvil and records it in chain.json. If that fails, kills it: no later run could find an unrecorded process. */
async function start(options: ChainOptions, saved: string | undefined): Promise<AnvilRecord> {
  const { directory, chainId } = options
  const dump = `state-${randomUUID()}.json`
  const { pid, url } = await startAnvil({ folder: directory, chainId, load: saved, dump })
  try {
    const { instanceId } = metadataSchema.parse(await chainRpc(url)('anvil_metadata'))
    const anvil = { pid, url, chainId, instance: instanceId, dump }
    await writeRecord(options, { state: 'running', anvil })
    watchUsers(directory, pid)
    await removeStates(directory)
    return anvil
  } catch (cause) {
    await killAnvil(pid)
    throw cause
  }
}

/** Does nothing if another service on this directory has ended the chain or started the next one. */
async function stop(options: ChainOptions, anvil: AnvilRecord): Promise<void> {
  const chain = await readRecord(options)
  if (chain && (chain.state === 'saved' || chain.anvil.instance !== anvil.instance)) return
  await writeRecord(options, { state: 'ending', anvil })
  await finish(options, anvil)
  await removeUser(options.directory)
}

/** Replaces the "ending" record by "saved", or removes it if no valid state was saved. Can be repeated after a crash. */
async function finish(options: ChainOptions, anvil: AnvilRecord): Promise<void> {
  const { pid, dump, chainId } = anvil
  // Another process may have the same pid by now, and must not get a signal.
  const isSameProcess = (await isAlive(pid)) && ((await hasArgument(pid, dump)) || (await answers(anvil)))
  if (isSameProcess) await endAnvil(pid)
  const sha256 = await sealState(join(options.directory, dump)).catch(() => undefined)
  if (sha256 === undefined) await rm(recordPath(options), { force: true })
  else await writeRecord(options, { state: 'saved', saved: { chainId, dump, sha256 } })
}

/** Flushes a saved state to disk and returns its digest. Throws if it is incomplete, because anvil does not report that. */
async function sealState(path: string): Promise<string> {
  const state = await readFile(path, 'utf8')
  JSON.parse(state)
  await using file = await open(path, 'r+')
  await file.sync()
  return createHash('sha256').update(state).digest('hex')
}

async function answers({ url, chainId, instance }: AnvilRecord): Promise<boolean> {
  try {
    const metadata = metadataSchema.parse(await chainRpc(url)('anvil_metadata'))
    return metadata.chainId === chainId && metadata.instanceId === instance
  } catch {
    return false
  }
}

const recordPath = ({ directory }: ChainOptions) => join(directory, 'chain.json')

async function writeRecord(options: ChainOptions, chain: ChainRecord): Promise<void> {
  await writeFileAtomically(recordPath(options), JSON.stringify(chain))
}

/** Returns undefined if the file is missing or invalid. */
async function readRecord(options: ChainOptions): Promise<ChainRecord | undefined> {
  const text = await readIfExists(recordPath(options))
  if (text === undefined) return undefined
  try {
    return chainSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Removes states that were loaded or belong to lost chains. The running chain has not written its state yet. */
async function removeStates(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (STATE_FILE.test(name)) await rm(join(directory, name), { force: true })
  }
}
