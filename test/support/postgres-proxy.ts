/** A proxy in front of a PostgreSQL server. Its target and its state can change, and it can lose single statements. */
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { SOCKET } from './postgres.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'

/**
 * `open` forwards. `closed` resets connections, like a host without a server. `silent` accepts connections and forwards
 * nothing, like a network without a route.
 */
export type ProxyState = 'open' | 'closed' | 'silent'

/** `request`: the statement never reaches the server. `reply`: the server runs it, and its answer is lost. */
export type LostPart = 'request' | 'reply'

export type PostgresProxy = Awaited<ReturnType<typeof startPostgresProxy>>

/** A proxy whose URL replaces that of the server. */
export async function startPostgresProxy(url: string) {
  const folder = await makeTemporaryDirectory()
  const proxy = await openPostgresProxy(folder, new URL(url).searchParams.get('host') ?? '')
  return { ...proxy, url: url.replace(/host=.*/, `host=${folder}`) }
}

/** Both folders have the Unix sockets: that of the proxy, and that of the server. */
export async function openPostgresProxy(folder: string, socketFolder: string) {
  const open = new Set<Socket>()
  let target = socketFolder
  let state: ProxyState = 'open'
  let fault = { part: 'request' as LostPart, text: '', times: 0 }

  const destroyAll = () => {
    for (const socket of open) socket.destroy()
  }
  const server = createServer((client) => {
    if (state === 'closed') return void client.destroy()
    const sockets = state === 'open' ? [client, connect(join(target, SOCKET))] : [client]
    const [, upstream] = sockets
    let isReplyLost = false
    const end = () => {
      for (const socket of sockets) socket.destroy()
    }
    for (const socket of sockets) {
      open.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        open.delete(socket)
        end()
      })
    }
    client.on('data', (chunk) => {
      const isFault = fault.times > 0 && chunk.includes(fault.text)
      if (isFault) fault.times -= 1
      if (isFault && fault.part === 'request') return end()
      isReplyLost = isFault
      if (state === 'open') upstream?.write(chunk)
    })
    upstream?.on('data', (chunk) => {
      if (isReplyLost) end()
      else if (state === 'open') client.write(chunk)
    })
  })
  await new Promise<void>((resolve) => void server.listen(join(folder, SOCKET), resolve))
  return {
    folder,
    /** Resets the existing connections, unless only the state changes to `silent`. */
    setTarget(nextState: ProxyState, nextTarget: string) {
      const isOnlySilenced = nextState === 'silent' && nextTarget === target
      state = nextState
      target = nextTarget
      if (!isOnlySilenced) destroyAll()
    },
    /** Loses this part of the next statements that contain `text`, `times` times. */
    lose: (part: LostPart, text: string, times: number) => void (fault = { part, text, times }),
    /** The faults that have not happened yet. */
    left: () => fault.times,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      destroyAll()
      await closed
    },
  }
}
