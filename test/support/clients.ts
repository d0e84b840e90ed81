/** Clients of requests that do not come over HTTP, and the clients of a test server. */
import type { ServerResponse } from 'node:http'
import { prefixesOf } from '../../agent/transport/http/client-address.ts'
import type { Clients } from '../../agent/transport/http/connections.ts'
import { AddressBudgets, ALWAYS_OPEN, type Client } from '../../agent/sale/limits/address-budget.ts'

const clock = () => performance.now()

/** Budgets that no test spends. */
const ampleBudgets = () => new AddressBudgets({ perMinute: 1_000_000, clock })

export function makeClient(address = '192.0.2.1', budgets = ampleBudgets()): Client {
  return { prefixes: [address], budget: budgets.enter(address), ...ALWAYS_OPEN }
}

/** For an application without a server of its own. */
export function makeClients({ budgets }: { budgets?: () => AddressBudgets } = {}): Clients {
  const ample = ampleBudgets()
  return {
    of(request) {
      const address = prefixesOf(request.socket.remoteAddress ?? '')?.at(-1) ?? ''
      // Express adds the response to a request.
      const { res } = request as typeof request & { res: ServerResponse }
      return {
        ...makeClient(address, budgets?.() ?? ample),
        hasLeft: () => res.destroyed,
        onLeave(callback) {
          res.once('close', callback)
          return () => void res.off('close', callback)
        },
      }
    },
  }
}

/** A client that leaves when the test says so. */
export function leavingClient(address = '192.0.2.1') {
  const callbacks = new Set<() => void>()
  let isGone = false
  const client: Client = {
    ...makeClient(address),
    hasLeft: () => isGone,
    onLeave(callback) {
      callbacks.add(callback)
      return () => void callbacks.delete(callback)
    },
  }
  return {
    client,
    /** The callbacks that wait for the client to leave. */
    callbacks,
    leave: () => {
      isGone = true
      for (const callback of callbacks) callback()
    },
  }
}
