/**
 * A JSON-RPC proxy between the service and its node. It kills the service around the one call that broadcasts the
 * transaction of a given nonce, and can pause mining.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { rpc } from './chain.ts'
import { listen } from './listen.ts'

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

  async function killAround({ at, kill }: KillTrigger, body: string): Promise<void> {
    trigger = undefined
    if (at === 'broadcast') await pauseMining()
    if (at !== 'signed') {
      const { result: hash } = JSON.parse(await forward(chainUrl, body)) as { result: string }
      if (at === 'mined') await mined(chainUrl, hash)
    }
    await kill()
  }

  async function pauseMining(): Promise<void> {
    isMiningPaused = true
    await rpc(chainUrl, 'evm_setAutomine', false)
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const { method, params } = JSON.parse(body) as { method: string; params: unknown[] }
    const isVictim =
      trigger !== undefined && method === 'eth_sendRawTransaction' && String(params[0]).includes(trigger.nonce.slice(2))
    if (trigger && isVictim) {
      await killAround(trigger, body)
      response.destroy()
      return
    }
    const reply = await forward(chainUrl, body)
    response.setHeader('content-type', 'application/json').end(reply)
  }

  // Mining at intervals as well, as in the sandbox, could not be paused.
  await rpc(chainUrl, 'evm_setAutomine', true)
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  return {
    ...(await listen(server)),
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

async function forward(url: string, body: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return response.text()
}
