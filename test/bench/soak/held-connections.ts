/** Idle and slow connections, which the service must close. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const BYTE_MS = 1_000
/** Above every time limit that the service has for a connection. */
const CLOSE_MS_MAX = 120_000

export interface HeldConnections {
  /** The number of connections that the service has not closed in time. */
  stillOpen(): Promise<number>
}

/** Half of the connections send nothing; the others send a header byte each second. */
export function holdConnections(url: string, count: number): HeldConnections {
  const { port, hostname } = new URL(url)
  const open = new Set<Socket>()
  for (let index = 0; index < count; index += 1) {
    const socket = connect(Number(port), hostname)
    open.add(socket)
    if (index % 2 === 0) socket.write('GET /attribution HTTP/1.1\r\nHost: bench\r\nX: ')
    const sending = index % 2 === 0 ? setInterval(() => socket.write('a'), BYTE_MS) : undefined
    socket.on('data', () => undefined).on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(sending)
      open.delete(socket)
    })
  }
  return {
    async stillOpen() {
      for (const end = performance.now() + CLOSE_MS_MAX; open.size > 0 && performance.now() < end;) await sleep(BYTE_MS)
      return open.size
    },
  }
}
