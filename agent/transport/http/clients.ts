/** The client of each HTTP request: its address, its budget, and the number of its requests in progress. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Report } from '../../../store/base/runtime.ts'
import type { AddressBudgets } from '../../sale/limits/address-budget.ts'
import type { Client } from '../../sale/limits/address-budget.ts'
import { clientAddress } from './client-address.ts'

/** Express adds the response to a request. */
interface RoutedRequest extends IncomingMessage {
  res?: ServerResponse | undefined
}

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

  /** Call once for each request. It counts as in progress until its response has ended. */
  of(request: RoutedRequest): Client {
    const { budgets, keepOpen } = this.#options
    const address = this.#addressOf(request)
    const budget = budgets.enter(address)
    request.res?.once('close', () => budget.leave())
    return { address, budget, keepConnectionOpen: () => keepOpen(request.socket) }
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
