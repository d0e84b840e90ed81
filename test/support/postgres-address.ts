/** An address that forwards to a PostgreSQL server, and after a failover to another one. */
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { SOCKET } from './postgres.ts'

/**
 * `open` forwards. `closed` resets connections, like a host without a server. `silent` accepts connections and forwards
 * nothing, like a network without a route.
 */
export type AddressState = 'open' | 'closed' | 'silent'

export interface PostgresAddress extends AsyncDisposable {
  /** The folder of its Unix socket. */
  folder: string
  /** Resets the existing connections, unless only the state changes to `silent`. */
  setTarget(state: AddressState, socketFolder: string): void
}

export async function openAddress(folder: string, socketFolder: string): Promise<PostgresAddress> {
  const open = new Set<Socket>()
  let target = socketFolder
  let state: AddressState = 'open'

  const destroyAll = () => {
    for (const socket of open) socket.destroy()
  }
  const keep = (socket: Socket, end: () => void) => {
    open.add(socket)
    socket.on('error', end)
    socket.on('close', () => {
      open.delete(socket)
      end()
    })
  }
  const server = createServer((client) => {
    if (state === 'closed') return client.destroy()
    const upstream = state === 'open' ? connect(join(target, SOCKET)) : undefined
    const end = () => {
      client.destroy()
      upstream?.destroy()
    }
    keep(client, end)
    if (!upstream) return undefined
    keep(upstream, end)
    client.on('data', (chunk) => void (state === 'open' && upstream.write(chunk)))
    return upstream.on('data', (chunk) => void (state === 'open' && client.write(chunk)))
  })
  await new Promise<void>((resolve) => void server.listen(join(folder, SOCKET), resolve))
  return {
    folder,
    setTarget(nextState, nextTarget) {
      const isOnlySilenced = nextState === 'silent' && nextTarget === target
      state = nextState
      target = nextTarget
      if (!isOnlySilenced) destroyAll()
    },
    async [Symbol.asyncDispose]() {
      destroyAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
