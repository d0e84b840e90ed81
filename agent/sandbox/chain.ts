/**
 * The local chain, which survives a stop and a kill of the service: anvil saves it when it is ended. Two services on
 * one directory use the chain of the first.
 */
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { isAnswering, openRpc } from '../settlement/rpc/json-rpc.ts'
import { writeFileAtomically } from '../../store/files/atomic-file.ts'
import { makePrivateDirectory } from '../../store/files/private-files.ts'
import { startAnvil } from './anvil.ts'
import { isPrepared } from './prepare-chain.ts'

/** Written while the chain runs. It can remain after a crash: the chain runs only if the processes in it do. */
export const RECORD_FILE = 'chain.json'
/** The state of a chain that does not run. It is removed when a chain continues from it, so that it is loaded once. */
export const stateFile = (chainId: number) => `state-${chainId}.json`

/** The longest time in which anvil saves its state and exits. A day of empty blocks takes a quarter of a second. */
const SAVE_MS_MAX = 15_000
const POLL_MS = 20

const recordSchema = z.object({
  url: z.string(),
  chainId: z.int(),
  /** The process ids of anvil and of the service that started it. */
  anvil: z.int().positive(),
  service: z.int().positive(),
})

type ChainRecord = z.infer<typeof recordSchema>

interface ChainOptions {
  directory: string
  chainId: number
}

/** Uses the running chain, loads the saved chain, or starts a new one. */
export async function startChain({ directory, chainId }: ChainOptions) {
  const options = { directory: resolve(directory), chainId }
  await makePrivateDirectory(options.directory)
  const { url, stop } = (await findRunning(options)) ?? (await startSaved(options))
  return {
    url,
    /** Whether the chain was never prepared or used. Records of an earlier chain are then void. */
    fresh: !(await isPrepared(url)),
    /** Saves the chain and ends anvil, if this call has started it. */
    stop,
  }
}

/** Undefined if the file is missing or invalid. */
export async function readRecord(directory: string): Promise<ChainRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(join(directory, RECORD_FILE), 'utf8')))
  } catch {
    return undefined
  }
}

/** Finds the running chain. If its service has ended, ends the chain too and waits while anvil saves it. */
async function findRunning({ directory, chainId }: ChainOptions) {
  for (let waited = 0; waited < SAVE_MS_MAX; waited += POLL_MS) {
    const record = await readRecord(directory)
    if (!record || !(await isAlive(record.anvil))) break
    const isServed = await isAlive(record.service)
    const isReachable = await isAnswering(record.url)
    if (record.chainId === chainId && isServed && isReachable) return { url: record.url, stop: async () => undefined }
    // If the chain does not answer, the process id may be that of another program.
    if (isReachable && !isServed) sendSignal(record.anvil, 'SIGTERM')
    await sleep(POLL_MS)
  }
  await rm(join(directory, RECORD_FILE), { force: true })
  return undefined
}

/** A state that cannot be loaded is of a lost chain, so a new one is started. */
async function startSaved(options: ChainOptions) {
  const state = stateFile(options.chainId)
  if (!existsSync(join(options.directory, state))) return start(options, [])
  return start(options, ['--load-state', state]).catch(() => start(options, []))
}

async function start({ directory, chainId }: ChainOptions, load: string[]) {
  const state = stateFile(chainId)
  // Anvil writes this file when it is ended. One that is incomplete, as on a full disk, cannot be loaded.
  const saved = ['--chain-id', String(chainId), '--dump-state', state, ...load]
  const { anvil, url } = await startAnvil(directory, saved)
  const ended = once(anvil, 'exit')
  const record = join(directory, RECORD_FILE)
  try {
    await writeFileAtomically(record, JSON.stringify({ url, chainId, anvil: anvil.pid, service: process.pid }))
    await rm(join(directory, state), { force: true })
    // Lines of anvil cost time, and nobody reads them after the start.
    await openRpc({ url })('anvil_setLoggingEnabled', [false])
  } catch (cause) {
    // If it lived on, it and the next chain would save their states to one file.
    anvil.kill('SIGKILL')
    throw cause
  }
  const stop = async () => {
    anvil.ref()
    anvil.kill()
    const late = setTimeout(() => anvil.kill('SIGKILL'), SAVE_MS_MAX)
    await ended
    clearTimeout(late)
    await rm(record, { force: true })
  }
  return { url, stop }
}

/** Returns false if the process has ended or belongs to another user. */
function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

async function isAlive(pid: number): Promise<boolean> {
  if (!sendSignal(pid, 0)) return false
  // A zombie counts as dead. Only Linux shows the state in /proc.
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return !/\) [ZX] /.test(status)
}
