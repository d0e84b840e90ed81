/**
 * Between the service that is to be killed and the chain: passes JSON-RPC on, and has the service killed around the one
 * call that sends the victim's transaction. It can keep the chain from mining what was sent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { rpc } from '../../agent/sandbox/rpc.ts'

const MINED_MS_MAX = 5_000
const POLL_MS = 2

export interface Trap {
  at: 'signed' | 'broadcast' | 'mined'
  /** Of the authorization, lower case. */
  nonce: string
  /** Kills the service, and resolves when it is dead. */
  kill: () => Promise<unknown>
}

export type KillGate = Awaited<ReturnType<typeof openKillGate>>

export async function openKillGate(chainUrl: string) {
  let trap: Trap | undefined
  let isHeld = false

  async function spring({ at, kill }: Trap, body: string): Promise<void> {
    trap = undefined
    if (at === 'broadcast') await hold()
    if (at !== 'signed') {
      const { result: hash } = JSON.parse(await forward(chainUrl, body)) as { result: string }
      if (at === 'mined') await mined(chainUrl, hash)
    }
    await kill()
  }

  async function hold(): Promise<void> {
    isHeld = true
    await rpc(chainUrl, 'evm_setAutomine', false)
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const { method, params } = JSON.parse(body) as { method: string; params: unknown[] }
    const isVictim =
      trap !== undefined && method === 'eth_sendRawTransaction' && String(params[0]).includes(trap.nonce.slice(2))
    if (trap && isVictim) {
      await spring(trap, body)
      response.destroy()
      return
    }
    const reply = await forward(chainUrl, body)
    response.setHeader('content-type', 'application/json').end(reply)
  }

  // From mining by the clock as well, as the sandbox does, anvil can't be stopped.
  await rpc(chainUrl, 'evm_setAutomine', true)
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set(next: Trap | undefined): void {
      trap = next
    },
    isHeld: () => isHeld,
    /** Mines what was held, and from now on each transaction at once. */
    async release(): Promise<void> {
      if (!isHeld) return
      isHeld = false
      await rpc(chainUrl, 'evm_setAutomine', true)
      await rpc(chainUrl, 'anvil_mine', '0x1')
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      await new Promise((resolve) => void server.close(resolve))
    },
  }
}

async function mined(url: string, hash: string): Promise<void> {
  for (let waited = 0; waited < MINED_MS_MAX; waited += POLL_MS) {
    if (await rpc(url, 'eth_getTransactionReceipt', hash)) return
    await sleep(POLL_MS)
  }
  throw new Error('The transaction of the sale was not mined')
}

async function forward(url: string, body: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return response.text()
}
