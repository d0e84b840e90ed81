/** A proxy in front of a PostgreSQL server that can lose single statements. */
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { SOCKET } from './postgres.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'

/** `request`: the statement never reaches the server. `reply`: the server runs it, and its answer is lost. */
export type LostPart = 'request' | 'reply'

export type PostgresProxy = Awaited<ReturnType<typeof startPostgresProxy>>

/** A proxy whose URL replaces that of the server. */
export async function startPostgresProxy(url: string) {
  const folder = await makeTemporaryDirectory()
  const target = join(new URL(url).searchParams.get('host') ?? '', SOCKET)
  const open = new Set<Socket>()
  let fault = { part: 'request' as LostPart, text: '', times: 0 }

  const server = createServer((client) => {
    const upstream = connect(target)
    let isReplyLost = false
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
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
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (isReplyLost) end()
      else client.write(chunk)
    })
  })
  await new Promise<void>((resolve) => void server.listen(join(folder, SOCKET), resolve))
  return {
    url: url.replace(/host=.*/, `host=${folder}`),
    /** Loses this part of the next statements that contain `text`, `times` times. */
    lose: (part: LostPart, text: string, times: number) => void (fault = { part, text, times }),
    /** The faults that have not happened yet. */
    left: () => fault.times,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}
