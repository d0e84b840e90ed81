/**
 * The local chain, which survives a stop and a kill of the service: a process of its own (agent/sandbox/keep-chain.ts)
 * runs anvil and saves the chain when the service has ended. Two services on one directory use the chain of the first.
 */
import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { open, readFile, rm } from 'node:fs/promises'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { errorCode } from '../../store/base/error-code.ts'
import { openRpc } from '../settlement/rpc/json-rpc.ts'
import { makePrivateDirectory } from '../../store/files/private-files.ts'
import { RECORD_FILE, stateFile } from './anvil.ts'
import { isPrepared } from './prepare-chain.ts'

const KEEPER = fileURLToPath(new URL('./keep-chain.js', import.meta.url))
/** A chain that is being saved has ended by then. */
const SAVE_MS_MAX = 15_000
const POLL_MS = 20

const recordSchema = z.object({
  url: z.string(),
  chainId: z.int(),
  /** The process ids of agent/sandbox/keep-chain.ts and of the service that started it. */
  keeper: z.int().positive(),
  service: z.int().positive(),
  /** The process id of anvil. Records of earlier versions have none. */
  anvil: z.int().positive().optional(),
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
  const { url, stop } = (await findRunning(options)) ?? (await startKeeper(options))
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

/**
 * Finds the running chain. If its service has ended, waits while the keeper saves the chain. If the keeper was killed,
 * ends anvil, because its state can no longer be saved.
 */
async function findRunning({ directory, chainId }: ChainOptions) {
  for (let waited = 0; waited < SAVE_MS_MAX; waited += POLL_MS) {
    const record = await readRecord(directory)
    if (!record) break
    if (record.chainId === chainId && (await isAlive(record.service)) && (await answers(record)))
      return { url: record.url, stop: async () => undefined }
    if (!(await isAlive(record.keeper))) {
      // If the chain does not answer, the process id may be that of another program.
      if (record.anvil !== undefined && (await answers(record))) endProcess(record.anvil)
      break
    }
    await sleep(POLL_MS)
  }
  await rm(join(directory, RECORD_FILE), { force: true })
  return undefined
}

/** Does nothing if the process has just ended or belongs to another user. */
function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (cause) {
    if (!['ESRCH', 'EPERM'].includes(errorCode(cause) ?? '')) throw cause
  }
}

async function answers({ url }: ChainRecord): Promise<boolean> {
  return openRpc({ url })('eth_chainId').then(
    () => true,
    () => false,
  )
}

/** A state that cannot be loaded is of a lost chain, so a new one is started. */
async function startKeeper(options: ChainOptions) {
  if (!existsSync(join(options.directory, stateFile(options.chainId)))) return runKeeper(options, [])
  return runKeeper(options, ['load']).catch(() => runKeeper(options, []))
}

/** @throws an error with a message of one line if anvil is missing or does not start */
async function runKeeper({ directory, chainId }: ChainOptions, load: string[]) {
  await using errors = await open(join(directory, 'anvil.log'), 'w', 0o600)
  const keeper = fork(KEEPER, [String(chainId), ...load], {
    cwd: directory,
    // Ctrl-C reaches the service only, which needs the chain for payments in progress.
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'ignore', errors.fd, 'ipc'],
  })
  const ended = once(keeper, 'exit')
  const [message] = (await Promise.race([once(keeper, 'message'), ended.then(() => [{}])])) as [
    { url?: string; failure?: string },
  ]
  const { url, failure = 'anvil did not start: see anvil.log' } = message
  if (url === undefined) throw new Error(failure)
  // The log would cost time, and is not kept.
  await openRpc({ url })('anvil_setLoggingEnabled', [false])
  // The service may end without stopping the chain.
  keeper.unref()
  keeper.channel?.unref()
  const stop = async () => {
    if (keeper.connected) keeper.disconnect()
    keeper.ref()
    await ended
  }
  return { url, stop }
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
