/**
 * The local chain, which survives a stop and a kill of the service: anvil saves its state when it ends. One service at
 * a time uses a directory.
 */
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

/** Written while the chain runs. It remains after a kill of anvil. */
export const RECORD_FILE = 'chain.json'
export const stateFile = (chainId: number) => `state-${chainId}.json`

/** The longest time in which anvil saves its state and exits. A day of empty blocks takes a quarter of a second. */
const SAVE_MS_MAX = 15_000
const POLL_MS = 20

const processId = z.int().positive()
/** `service` has started `anvil`. */
const recordSchema = z.object({ url: z.string(), anvil: processId, service: processId })

interface ChainOptions {
  directory: string
  chainId: number
}

/**
 * Continues the saved chain, or starts a new one. One that is `fresh` was never prepared or used, and records of an
 * earlier chain are then void.
 */
export async function startChain({ directory: given, chainId }: ChainOptions) {
  const directory = resolve(given)
  await makePrivateDirectory(directory)
  await waitForFormer(directory)
  const record = join(directory, RECORD_FILE)
  const state = join(directory, stateFile(chainId))
  const id = ['--chain-id', String(chainId)]
  // A state that cannot be loaded, such as one of a full disk, is that of a lost chain.
  const { anvil, url } = await startAnvil(directory, [...id, '--state', state]).catch(() =>
    startAnvil(directory, [...id, '--dump-state', state]),
  )
  const ended = once(anvil, 'exit')
  const stop = async () => {
    anvil.ref()
    anvil.kill()
    const late = setTimeout(() => anvil.kill('SIGKILL'), SAVE_MS_MAX)
    await ended
    clearTimeout(late)
    await rm(record, { force: true })
  }
  try {
    await writeFileAtomically(record, JSON.stringify({ url, anvil: anvil.pid, service: process.pid }))
    // It is loaded once: after a kill of anvil it would lack payments.
    await rm(state, { force: true })
    // Lines of anvil cost time, and nobody reads them after the start.
    await openRpc({ url })('anvil_setLoggingEnabled', [false])
    return { url, fresh: !(await isPrepared(url)), stop }
  } catch (cause) {
    // If it lived on, it and the next chain would save their states to one file.
    anvil.kill('SIGKILL')
    throw cause
  }
}

/** Undefined if the file is missing or invalid. */
export async function readRecord(directory: string): Promise<z.infer<typeof recordSchema> | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(join(directory, RECORD_FILE), 'utf8')))
  } catch {
    return undefined
  }
}

/** Waits while the anvil of a killed service saves its state. */
async function waitForFormer(directory: string): Promise<void> {
  const record = await readRecord(directory)
  if (!record) return
  for (let waited = 0; waited < SAVE_MS_MAX && (await isAlive(record.anvil)); waited += POLL_MS) {
    // If the chain does not answer, the process ids may be those of other programs.
    if ((await isAlive(record.service)) && (await isAnswering(record.url)))
      throw new Error('Another service uses the sandbox of DATA_DIR: stop it, or set another DATA_DIR')
    await sleep(POLL_MS)
  }
}

async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  // A zombie counts as dead. Only Linux shows the state in /proc.
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return !/\) [ZX] /.test(status)
}
