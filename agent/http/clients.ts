/** The client of each HTTP request: its address, its budget, and the number of its requests in progress. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Report } from '../../store/runtime.ts'
import type { AddressBudgets } from '../limits/address-budget.ts'
import type { Client } from '../limits/client.ts'
import { rateLimited } from '../limits/rate-limited.ts'
import { clientAddress } from './client-address.ts'
import { renderOutcome } from './render-outcome.ts'
import { sendResponse } from './response.ts'

/** A request in progress ends within seconds. */
const IN_PROGRESS_WAIT_MS = 1_000

interface ClientsOptions {
  budgets: AddressBudgets
  /** The number of reverse proxies whose `X-Forwarded-For` entry is trusted. */
  trustedProxies: number
  /** Keeps a connection open when others are closed, until its request ends. */
  keepOpen: (socket: Socket) => void
  report: Report
}

export class Clients {
  readonly #options: ClientsOptions
  #isProxyReported = false

  constructor(options: ClientsOptions) {
    this.#options = options
  }

  of(request: IncomingMessage): Client {
    const { budgets, keepOpen } = this.#options
    const address = this.#addressOf(request)
    return { address, budget: budgets.open(address), prove: () => keepOpen(request.socket) }
  }

  /** Answers 429 if too many requests of the address are in progress. */
  readonly limitInProgress = (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const entry = this.#options.budgets.enter(this.#addressOf(request))
    if (!entry) return sendResponse(response, renderOutcome(rateLimited(IN_PROGRESS_WAIT_MS)))
    response.once('close', () => entry[Symbol.dispose]())
    next()
  }

  #addressOf(request: IncomingMessage): string {
    const { trustedProxies, report } = this.#options
    if (trustedProxies === 0 && !this.#isProxyReported && request.headers['x-forwarded-for'] !== undefined) {
      this.#isProxyReported = true
      report(
        'proxy_not_trusted',
        'X-Forwarded-For is sent and TRUST_PROXY is 0, so all clients of the proxy share one budget',
      )
    }
    return clientAddress(request, trustedProxies)
  }
}
