/**
 * The embedded chain, which outlives both a stop and a crash of the service. What became of it is in chain.json, which
 * is only ever replaced whole; the next start goes by this table:
 *
 *   running, and that anvil answers   the service was killed: the chain goes on
 *   running, and it doesn't           lost: a new chain
 *   ending                            the service was killed while it stopped: the stop is finished, then as below
 *   saved, and the state is whole     the service was stopped: the state is loaded
 *   anything else                     a new chain
 *
 * A saved state holds only as long as nobody has used the chain since, for a payment that the response log knows would
 * be undone: so chain.json says "running" again before anyone learns the address of a chain that was loaded.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { endAnvil, hasArgument, isAlive, killAnvil, startAnvil } from './anvil.ts'
import { isPrepared } from './deploy.ts'
import { flushFile, readIfThere, writeWhole } from './files.ts'
import { rpc } from './rpc.ts'

export interface LocalChain {
  url: string
  /** It was never prepared, let alone used. What is known of an earlier chain is void. */
  fresh: boolean
  /** Saves the chain and ends it. */
  stop(): Promise<void>
}

interface Place {
  folder: string
  chainId: number
  log: (line: string) => void
}

const Anvil = z.object({
  pid: z.int().positive(),
  url: z.string(),
  chainId: z.int(),
  /** What this anvil calls itself: random, and another one at every start. */
  instance: z.string(),
  /** Where it saves its state at the end: a name that no other has. */
  dump: z.string(),
})
type Anvil = z.infer<typeof Anvil>

const Saved = z.object({ chainId: z.int(), dump: z.string(), sha256: z.string() })
type Saved = z.infer<typeof Saved>

const Chain = z.discriminatedUnion('state', [
  z.object({ state: z.literal('running'), anvil: Anvil }),
  z.object({ state: z.literal('ending'), anvil: Anvil }),
  z.object({ state: z.literal('saved'), saved: Saved }),
])
type Chain = z.infer<typeof Chain>

const Metadata = z.object({ chainId: z.int(), instanceId: z.string() })

/** Finds the chain still running, loads it, or starts a new one. Log lines are in plain words. */
export async function startChain(request: {
  directory: string
  chainId: number
  log?: (line: string) => void
}): Promise<LocalChain> {
  const place = { folder: resolve(request.directory), chainId: request.chainId, log: request.log ?? (() => undefined) }
  await mkdir(place.folder, { recursive: true, mode: 0o700 })
  const anvil = await takeUp(place, await readChain(place))
  // Not "was started just now": a caller that dies before it has dealt with a new chain is told again at the next start.
  const fresh = !(await isPrepared(anvil.url))
  let stopped: Promise<void> | undefined
  return { url: anvil.url, fresh, stop: () => (stopped ??= stop(place, anvil)) }
}

async function takeUp(place: Place, chain: Chain | undefined): Promise<Anvil> {
  if (chain?.state === 'ending') {
    await finish(place, chain.anvil)
    return takeUp(place, await readChain(place))
  }
  const found = chain?.state === 'running' ? await adopt(place, chain.anvil) : undefined
  const loaded = chain?.state === 'saved' ? await load(place, chain.saved) : undefined
  return found ?? loaded ?? start(place, undefined)
}

async function adopt({ chainId, log }: Place, anvil: Anvil): Promise<Anvil | undefined> {
  if (!(await isAlive(anvil.pid))) return undefined
  if (anvil.chainId === chainId && (await answers(anvil))) return anvil
  if (await hasArgument(anvil.pid, anvil.dump)) {
    log('the sandbox chain of an earlier run does not answer and was ended')
    await killAnvil(anvil.pid)
  }
  return undefined
}

async function load(place: Place, { chainId, dump, sha256 }: Saved): Promise<Anvil | undefined> {
  if (chainId !== place.chainId) return undefined
  try {
    if ((await digest(dump)) !== sha256) throw new Error('its file was changed')
    return await start(place, dump)
  } catch (cause) {
    place.log(`the saved sandbox chain can't be loaded: ${cause instanceof Error ? cause.message : 'no reason given'}`)
    return undefined
  }
}

/** A chain is recorded before it is handed out, or ended: nobody would ever find it again. */
async function start(place: Place, saved: string | undefined): Promise<Anvil> {
  const { folder, chainId } = place
  const dump = join(folder, `state-${randomUUID()}.json`)
  const { pid, url } = await startAnvil({ folder, chainId, load: saved, dump })
  try {
    const { instanceId } = Metadata.parse(await rpc(url, 'anvil_metadata'))
    const anvil = { pid, url, chainId, instance: instanceId, dump }
    await record(place, { state: 'running', anvil })
    await removeStates(place)
    return anvil
  } catch (cause) {
    await killAnvil(pid)
    throw cause
  }
}

/** Another service on this directory may have ended the chain, and begun to use the next: then that one is not ours to end. */
async function stop(place: Place, anvil: Anvil): Promise<void> {
  const now = await readChain(place)
  if (now && (now.state === 'saved' || now.anvil.instance !== anvil.instance)) return
  await record(place, { state: 'ending', anvil })
  await finish(place, anvil)
}

/** From "ending" to "saved", or to nothing. May be repeated: the process and its file may be there or not. */
async function finish(place: Place, anvil: Anvil): Promise<void> {
  const { pid, dump, chainId } = anvil
  // Never a signal to a process that only happens to have the number.
  const ours = (await isAlive(pid)) && ((await hasArgument(pid, dump)) || (await answers(anvil)))
  if (ours) await endAnvil(pid)
  if (await isWhole(dump)) {
    await record(place, { state: 'saved', saved: { chainId, dump, sha256: await digest(dump) } })
    return
  }
  place.log('the sandbox chain could not be saved: the next start begins a new one')
  await rm(recordPath(place), { force: true })
}

/** Whether anvil got to the end of its writing, which its exit code doesn't tell; and if so, now on disk. */
async function isWhole(dump: string): Promise<boolean> {
  try {
    JSON.parse(await readFile(dump, 'utf8'))
    await flushFile(dump)
    return true
  } catch {
    return false
  }
}

async function answers({ url, chainId, instance }: Anvil): Promise<boolean> {
  try {
    const metadata = Metadata.parse(await rpc(url, 'anvil_metadata'))
    return metadata.chainId === chainId && metadata.instanceId === instance
  } catch {
    return false
  }
}

async function record(place: Place, chain: Chain): Promise<void> {
  await writeWhole(recordPath(place), JSON.stringify(chain))
}

/** Undefined also for a file that isn't what we write: it is as good as none. */
async function readChain(place: Place): Promise<Chain | undefined> {
  const text = await readIfThere(recordPath(place))
  if (text === undefined) return undefined
  try {
    return Chain.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

function recordPath({ folder }: Place): string {
  return join(folder, 'chain.json')
}

/** States that were loaded or belong to lost chains. The one that runs has yet to write its own. */
async function removeStates({ folder }: Place): Promise<void> {
  for (const name of await readdir(folder)) {
    if (/^state-[-0-9a-f]{36}\.json$/.test(name)) await rm(join(folder, name), { force: true })
  }
}

async function digest(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
}
