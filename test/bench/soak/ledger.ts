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
import { chainOf } from '../../support/fake-chain.ts'
import type { Chain } from '../../../agent/chain/chain.ts'
import { testTerms } from '../../support/payments.ts'

/** The longest delay before a transfer, and after it before the answer. Some kills therefore happen between the two. */
const SETTLE_MS_MAX = 10

/** The transfer of a nonce; without a transaction there is none. */
interface Answer {
  transaction: string | null
  from: string
  value: string
}

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
    const sums = new Map<string, { from: string; value: string }>()
    const server = createServer((request, response) => {
      const [, nonce = '', from = '', value = ''] = request.url?.split('/') ?? []
      const answer = (transaction: string | undefined) => {
        const paid: Answer = { transaction: transaction ?? null, from: '', value: '0', ...sums.get(nonce) }
        response.end(JSON.stringify(paid))
      }
      if (request.method === 'GET') return answer(transfers.get(nonce))
      if (!sums.has(nonce)) sums.set(nonce, { from, value })
      void settle(transfers, nonce).then(answer)
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
  const call = async (method: 'GET' | 'POST', path: string) => {
    const response = await fetch(`${url}/${path}`, { method })
    return (await response.json()) as Answer
  }
  const newestTime = () => BigInt(Math.floor(Date.now() / 1000))
  return {
    facilitator: {
      verify: async ({ payload }) => ({ isValid: true, payer: authorizationIn(payload).from }),
      settle: async ({ payload }) => {
        const { from: payer, nonce, value } = authorizationIn(payload)
        const { transaction } = await call('POST', `${nonce}/${payer}/${value}`)
        const { network } = testTerms
        if (transaction === null)
          return { success: false, errorReason: 'transaction_failed', transaction: '', network, payer }
        return { success: true, transaction, network, payer }
      },
      getSupported: async () => ({ kinds: [], extensions: [], signers: {} }),
    },
    chain: chainOf(
      () => new Date(),
      async (nonce) => {
        const { transaction, from, value } = await call('GET', nonce)
        if (transaction === null) return { nonce: 'free', time: newestTime(), finalTime: newestTime() }
        const transfer = { from, to: testTerms.payTo, value: BigInt(value), transaction }
        return { nonce: 'used', transfer, isFinal: true }
      },
    ),
  }
}

function authorizationIn(payload: Record<string, unknown>): { from: string; nonce: string; value: string } {
  return payload['authorization'] as { from: string; nonce: string; value: string }
}
