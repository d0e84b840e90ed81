/**
 * The answers that a soak bought. At the end every node must replay each of them byte by byte. The ledger must have one
 * transfer for each of these payments, and no other.
 */
import { createHash } from 'node:crypto'
import { Connection, toBytes, type LoadResponse } from '../load/client.ts'
import type { Ledger } from '../../support/remotes/ledger.ts'
import type { SoakNode } from './node.ts'
import type { SoakRequest } from './requests.ts'

const REPLAY_CONNECTIONS = 8

interface Sale {
  bytes: string
  /** Of the answer. */
  digest: string
}

export class Sales {
  /** By nonce. */
  readonly #sales = new Map<string, Sale>()
  readonly #onFault: (fault: string) => void

  constructor(onFault: (fault: string) => void) {
    this.#onFault = onFault
  }

  get count(): number {
    return this.#sales.size
  }

  /** Records an answer with status 200. */
  add(request: SoakRequest, response: LoadResponse): void {
    const nonce = nonceOf(request)
    const digest = digestOf(response)
    const before = this.#sales.get(nonce)
    if (before && before.digest !== digest) this.#onFault(`${request.path} got another answer to the same payment`)
    this.#sales.set(nonce, { bytes: toBytes(request), digest })
  }

  /** Repeats every sale. */
  async replay({ name, server }: SoakNode): Promise<void> {
    const sales = this.#sales.values()
    const work = async () => {
      using connection = await Connection.open(server.url)
      for (const { bytes, digest } of sales) {
        const response = await connection.send(bytes)
        if (digestOf(response) !== digest)
          this.#onFault(`${name} does not replay ${bytes.slice(0, bytes.indexOf(' HTTP'))}: ${response.status}`)
      }
    }
    await Promise.all(Array.from({ length: REPLAY_CONNECTIONS }, work))
  }

  compare(ledger: Ledger): void {
    const unpaid = [...this.#sales.keys()].filter((nonce) => !ledger.isUsed(nonce)).length
    const unanswered = ledger.nonces.filter((nonce) => !this.#sales.has(nonce)).length
    if (unpaid > 0) this.#onFault(`${unpaid} answers without a transfer`)
    if (unanswered > 0) this.#onFault(`${unanswered} transfers without an answer`)
  }
}

/** Includes the receipt, which is in a header or, over MCP, in the body. */
function digestOf({ status, head, body }: LoadResponse): string {
  const [, receipt = ''] = /\r\npayment-response: *(\S+)/i.exec(head) ?? []
  return createHash('sha256').update(`${status} ${receipt} ${body}`).digest('base64')
}

interface SignedPayment {
  payload: { authorization: { nonce: string } }
}

/** A payment is in a header, or over MCP in the body. */
function nonceOf({ headers, body }: SoakRequest): string {
  const value = headers?.['PAYMENT-SIGNATURE']
  const payment =
    value === undefined
      ? (JSON.parse(body ?? '') as { params: { _meta: Record<string, SignedPayment> } }).params._meta['x402/payment']
      : (JSON.parse(Buffer.from(value, 'base64').toString()) as SignedPayment)
  if (!payment) throw new Error('The sale has no payment')
  return payment.payload.authorization.nonce
}
