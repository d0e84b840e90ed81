/**
 * A JSON-RPC proxy between the service and its node. It kills the service around the one call that broadcasts the
 * transaction of a given nonce, and can pause mining.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { rpc } from './chain.ts'
import { passOn, startFaultProxy, type Exchange } from './fault-proxy.ts'

const MINED_MS_MAX = 5_000
const POLL_MS = 2

export interface KillTrigger {
  at: 'signed' | 'broadcast' | 'mined'
  /** The nonce of the authorization in lower case. */
  nonce: string
  /** Kills the service and resolves when it has exited. */
  kill: () => Promise<unknown>
}

export type KillProxy = Awaited<ReturnType<typeof openKillProxy>>

export async function openKillProxy(chainUrl: string) {
  let trigger: KillTrigger | undefined
  let isMiningPaused = false

  async function handle(exchange: Exchange): Promise<void> {
    const next = trigger
    const isVictim = exchange.calls.some(
      ({ method, params }) =>
        next && method === 'eth_sendRawTransaction' && String(params[0]).includes(next.nonce.slice(2)),
    )
    if (!next || !isVictim) return passOn(exchange)
    trigger = undefined
    if (next.at === 'broadcast') {
      isMiningPaused = true
      await rpc(chainUrl, 'evm_setAutomine', false)
    }
    if (next.at !== 'signed') {
      const [{ result } = {}] = [await exchange.answer()].flat()
      if (next.at === 'mined') await mined(chainUrl, String(result))
    }
    await next.kill()
    exchange.response.destroy()
  }

  // Mining at intervals as well, as in the sandbox, could not be paused.
  await rpc(chainUrl, 'evm_setAutomine', true)
  const proxy = await startFaultProxy(chainUrl)
  proxy.fail(handle)
  return {
    ...proxy,
    set(next: KillTrigger | undefined): void {
      trigger = next
    },
    isMiningPaused: () => isMiningPaused,
    /** Mines pending transactions, and later ones at once. */
    async resumeMining(): Promise<void> {
      if (!isMiningPaused) return
      isMiningPaused = false
      await rpc(chainUrl, 'evm_setAutomine', true)
      await rpc(chainUrl, 'anvil_mine', '0x1')
    },
  }
}

async function mined(url: string, hash: string): Promise<void> {
  for (let waited = 0; waited < MINED_MS_MAX; waited += POLL_MS) {
    if (await rpc(url, 'eth_getTransactionReceipt', hash)) return
    await sleep(POLL_MS)
  }
  throw new Error('The transaction was not mined in time')
}
