/**
 * The facilitator and the chain of services that are killed. This process has the transfers and serves them over HTTP,
 * so they survive every kill. A nonce is used once, as in the token.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FacilitatorClient } from '@x402/core/server'
import { observationOf } from '../../support/fake-chain.ts'
import type { Chain } from '../../../agent/payments/chain.ts'
import { testTerms } from '../../support/payments.ts'

/** The longest delay before a transfer, and after it before the answer. Some kills therefore happen between the two. */
const SETTLE_MS_MAX = 10

export class Ledger implements AsyncDisposable {
  readonly url: string
  /** Transaction hashes by nonce. */
  readonly transfers: ReadonlyMap<string, string>
  readonly #server: Server

  private constructor(server: Server, transfers: ReadonlyMap<string, string>) {
    this.#server = server
    this.transfers = transfers
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async open(): Promise<Ledger> {
    const transfers = new Map<string, string>()
    const server = createServer((request, response) => {
      const nonce = request.url?.slice(1) ?? ''
      const answer = (transaction: string | undefined) =>
        response.end(JSON.stringify({ transaction: transaction ?? null }))
      if (request.method === 'GET') answer(transfers.get(nonce))
      else void settle(transfers, nonce).then(answer)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Ledger(server, transfers)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}

/** @returns the transaction, or undefined if the nonce was used before */
async function settle(transfers: Map<string, string>, nonce: string): Promise<string | undefined> {
  await sleep(Math.random() * SETTLE_MS_MAX)
  if (transfers.has(nonce)) return undefined
  const transaction = `0x${createHash('sha256').update(nonce).digest('hex')}`
  transfers.set(nonce, transaction)
  await sleep(Math.random() * SETTLE_MS_MAX)
  return transaction
}

/** For a service. Every verification succeeds, every block is final, and its number is its time in seconds. */
export function ledgerExternals(url: string): { facilitator: FacilitatorClient; chain: Chain } {
  const call = async (method: 'GET' | 'POST', nonce: string) => {
    const response = await fetch(`${url}/${nonce}`, { method })
    return ((await response.json()) as { transaction: string | null }).transaction
  }
  const newestTime = () => BigInt(Math.floor(Date.now() / 1000))
  return {
    facilitator: {
      verify: async ({ payload }) => ({ isValid: true, payer: authorizationIn(payload).from }),
      settle: async ({ payload }) => {
        const { from: payer, nonce } = authorizationIn(payload)
        const transaction = await call('POST', nonce)
        const { network } = testTerms
        if (transaction === null)
          return { success: false, errorReason: 'transaction_failed', transaction: '', network, payer }
        return { success: true, transaction, network, payer }
      },
      getSupported: async () => ({ kinds: [], extensions: [], signers: {} }),
    },
    chain: {
      observe: async (payments) => {
        const used = await Promise.all(payments.map(async ({ nonce }) => (await call('GET', nonce)) !== null))
        return observationOf(
          new Date(),
          payments,
          used.map((isNonceUsed) => ({ isNonceUsed })),
        )
      },
      progress: async () => ({ time: newestTime(), finalBlock: newestTime() }),
      evidence: async ({ authorization: { from, to, value, nonce } }) => {
        const transaction = await call('GET', nonce)
        return transaction === null
          ? { nonce: 'free', time: newestTime(), finalTime: newestTime() }
          : { nonce: 'used', transfer: { from, to, value: BigInt(value), transaction }, isFinal: true }
      },
    },
  }
}

function authorizationIn(payload: Record<string, unknown>): { from: string; nonce: string } {
  return payload['authorization'] as { from: string; nonce: string }
}
