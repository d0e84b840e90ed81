/** Ways in which a server ends the body of an answer, over real sockets. A server can also break it off. */
import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

interface Ending {
  name: string
  /** Whether the body arrives whole. */
  isWhole: boolean
  send: (socket: Socket, body: Buffer) => void | Promise<void>
}

const head = (body: Buffer, ...headers: string[]) =>
  ['HTTP/1.1 200 OK', `Content-Length: ${body.length}`, ...headers, '', ''].join('\r\n')
const headWithoutLength = (version: string, ...headers: string[]) =>
  [`HTTP/${version} 200 OK`, ...headers, '', ''].join('\r\n')
const half = (body: Buffer) => body.subarray(0, Math.floor(body.length / 2))
const chunk = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')])

export const ENDINGS: readonly Ending[] = [
  {
    name: 'with a length, and closes',
    isWhole: true,
    send: (socket, body) => void socket.end(Buffer.concat([Buffer.from(head(body)), body])),
  },
  {
    name: 'with a length and Connection: close',
    isWhole: true,
    send(socket, body) {
      socket.write(head(body, 'Connection: close'))
      socket.end(body)
    },
  },
  {
    name: 'without a length, with Connection: close',
    isWhole: true,
    send(socket, body) {
      socket.write(headWithoutLength('1.1', 'Connection: close'))
      socket.end(body)
    },
  },
  {
    name: 'in HTTP/1.0 without a length',
    isWhole: true,
    send(socket, body) {
      socket.write(headWithoutLength('1.0'))
      socket.end(body)
    },
  },
  {
    name: 'in chunks',
    isWhole: true,
    send: (socket, body) =>
      void socket.write(
        Buffer.concat([
          Buffer.from(headWithoutLength('1.1', 'Transfer-Encoding: chunked')),
          chunk(half(body)),
          chunk(body.subarray(half(body).length)),
          Buffer.from('0\r\n\r\n'),
        ]),
      ),
  },
  {
    name: 'without its last chunk',
    isWhole: false,
    send(socket, body) {
      socket.write(headWithoutLength('1.1', 'Transfer-Encoding: chunked'))
      socket.end(chunk(body))
    },
  },
  {
    name: 'before its length',
    isWhole: false,
    send(socket, body) {
      socket.write(head(body))
      socket.end(half(body))
    },
  },
  {
    name: 'with a reset before its length',
    isWhole: false,
    async send(socket, body) {
      socket.write(head(body))
      socket.write(half(body))
      await sleep(20)
      socket.resetAndDestroy()
    },
  },
  {
    name: 'with a reset, without a length',
    isWhole: false,
    async send(socket, body) {
      socket.write(headWithoutLength('1.1', 'Connection: close'))
      socket.write(half(body))
      await sleep(20)
      socket.resetAndDestroy()
    },
  },
]

/** Compressed, although the request accepts no encoding. */
export const COMPRESSED: Ending = {
  name: 'compressed, with Connection: close',
  isWhole: true,
  send(socket, body) {
    socket.write(headWithoutLength('1.1', 'Connection: close', 'Content-Encoding: gzip'))
    socket.end(gzipSync(body))
  },
}

/** Answers every request with one body, by the ending that is set. */
export async function startBodyServer(body: Buffer) {
  let ending: Ending | undefined
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    // The client closes the connection while the server writes.
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (request) => {
      // The bodies of the requests of a test are in the same segment as their headers.
      if (request.includes('\r\n\r\n')) void ending?.send(socket, body)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/companies.csv`,
    use: (next: Ending) => void (ending = next),
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
