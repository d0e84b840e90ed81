/** A fake facilitator (`/verify`, `/settle`, `/supported`) and a fake chain node (`/rpc`) over HTTP, on one ledger. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json as readJson } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { listen } from '../listen.ts'
import { testTerms } from '../payments.ts'
import { answerRpc } from './chain-node.ts'
import { facilitatorOf, type SentPayment } from './facilitator.ts'
import { Ledger, type LedgerAccount } from './ledger.ts'

interface RemotesOptions {
  unfinalBlocks: number
  /** The longest delay before a transfer, and after it before the reply. */
  settleMsMax?: number
  /** Delays each reply of the node. */
  rpcMs?: number
}

export interface Remotes extends AsyncDisposable {
  url: string
  ledger: Ledger
}

export async function openRemotes({ unfinalBlocks, settleMsMax = 0, rpcMs = 0 }: RemotesOptions): Promise<Remotes> {
  const ledger = new Ledger({ unfinalBlocks })
  const facilitator = facilitatorOf(ledger, async ({ from }) => {
    await sleep(ledger.accountOf(from).settleMs ?? 0)
    if (settleMsMax > 0) await sleep(Math.random() * settleMsMax)
  })
  const server = createServer((request, response) => void answer(request, response))
  // By default a connection is closed after five seconds without a request.
  server.keepAliveTimeout = 60_000
  const listening = await listen(server)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = await replyTo(request.url ?? '', request.method === 'POST' ? await readJson(request) : undefined)
    const body = JSON.stringify(reply)
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body)
  }

  async function replyTo(path: string, body: unknown): Promise<unknown> {
    switch (path) {
      case '/rpc':
        if (rpcMs > 0) await sleep(rpcMs)
        return answerRpc(ledger, body)
      case '/accounts':
        for (const [address, account] of Object.entries(body as Record<string, LedgerAccount>))
          ledger.accounts.set(address.toLowerCase(), account)
        return {}
      case '/observed':
        return Object.fromEntries(ledger.observed)
      case '/repeated':
        return ledger.repeated
      case '/verify':
        return facilitator.verify((body as SentPayment).paymentPayload)
      case '/settle':
        return settle(body as SentPayment)
      default:
        return { kinds: [{ x402Version: 2, scheme: 'exact', network: testTerms.network }], extensions: [], signers: {} }
    }
  }

  async function settle({ paymentPayload, paymentRequirements }: SentPayment) {
    const reply = await facilitator.settle(paymentPayload, paymentRequirements)
    if (settleMsMax > 0) await sleep(Math.random() * settleMsMax)
    return reply
  }

  return { url: listening.url, ledger, [Symbol.asyncDispose]: async () => listening.close() }
}

/** The configuration of a service that uses these remotes. */
export function remotesEnvironment(url: string): Record<string, string> {
  return { FACILITATOR: url, RPC_URL: `${url}/rpc`, PAY_TO: testTerms.payTo }
}
