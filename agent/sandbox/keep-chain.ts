/**
 * The process that runs anvil for a service, and saves the chain when the service stops or is killed: in both cases the
 * channel to the service closes. agent/sandbox/chain.ts starts it in the directory of the chain.
 */
import { readFile, rm } from 'node:fs/promises'
import { replaceWithFile, writeFileAtomically } from '../../store/files/atomic-file.ts'
import { RECORD_FILE, startAnvil, stateFile } from './anvil.ts'
import type { ChainRecord } from './chain.ts'

/** Saving a day of empty blocks takes a quarter of a second. */
const STOP_MS_MAX = 15_000
/** Anvil writes its state to this file when it exits. */
const UNFINISHED_FILE = 'state.unfinished'

const [chainId = '', hasState] = process.argv.slice(2)
const load = hasState === undefined ? [] : ['--load-state', stateFile(chainId)]
const anvil = startAnvil(['--chain-id', chainId, '--dump-state', UNFINISHED_FILE, ...load])
let isRunning = false

process.on('disconnect', () => {
  anvil.child.kill(isRunning ? 'SIGTERM' : 'SIGKILL')
  setTimeout(() => anvil.child.kill('SIGKILL'), STOP_MS_MAX).unref()
})
anvil.child.once('exit', () => void end())

try {
  const url = await anvil.url
  isRunning = true
  const processes = { keeper: process.pid, service: process.ppid, anvil: Number(anvil.child.pid) }
  const record: ChainRecord = { url, chainId: Number(chainId), ...processes }
  await writeFileAtomically(RECORD_FILE, JSON.stringify(record))
  await rm(stateFile(chainId), { force: true })
  process.send?.({ url })
} catch (cause) {
  anvil.child.kill('SIGKILL')
  process.send?.({ failure: cause instanceof Error ? cause.message : String(cause) }, () => process.exit(1))
}

async function end(): Promise<void> {
  if (!isRunning) return
  try {
    // Anvil does not report an incomplete state, for example on a full disk.
    JSON.parse(await readFile(UNFINISHED_FILE, 'utf8'))
    await replaceWithFile(stateFile(chainId), UNFINISHED_FILE)
  } catch {
    // The chain is lost.
  }
  await rm(RECORD_FILE, { force: true })
  process.exit()
}
