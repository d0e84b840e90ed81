/**
 * The process that runs anvil for a service, and saves the chain when the service stops or is killed: in both cases the
 * channel to the service closes. agent/sandbox/chain.ts starts it in the directory of the chain.
 */
import { rm } from 'node:fs/promises'
import { writeFileAtomically } from '../../store/files/atomic-file.ts'
import { RECORD_FILE, startAnvil, stateFile } from './anvil.ts'

/** Saving a day of empty blocks takes a quarter of a second. */
const STOP_MS_MAX = 15_000

const [chainId = '', hasState] = process.argv.slice(2)
const state = stateFile(chainId)
// Anvil writes this file when it exits. One that is incomplete, as on a full disk, cannot be loaded.
const anvil = startAnvil(['--chain-id', chainId, '--dump-state', state, ...(hasState ? ['--load-state', state] : [])])
let isRunning = false

process.on('disconnect', () => {
  anvil.child.kill(isRunning ? 'SIGTERM' : 'SIGKILL')
  setTimeout(() => anvil.child.kill('SIGKILL'), STOP_MS_MAX).unref()
})
anvil.child.once('exit', () => {
  if (isRunning) void rm(RECORD_FILE, { force: true }).finally(() => process.exit())
})

try {
  const url = await anvil.url
  isRunning = true
  const processes = { keeper: process.pid, service: process.ppid, anvil: Number(anvil.child.pid) }
  await writeFileAtomically(RECORD_FILE, JSON.stringify({ url, chainId: Number(chainId), ...processes }))
  await rm(state, { force: true })
  process.send?.({ url })
} catch (cause) {
  anvil.child.kill('SIGKILL')
  process.send?.({ failure: cause instanceof Error ? cause.message : String(cause) }, () => process.exit(1))
}
