/** Ways in which a server ends the body of an answer, over real sockets. A server can also break it off. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

interface Ending {
  name: string
  /** Whether the body arrives whole. */
  isWhole: boolean
  /** The first line and the headers of the answer. */
  head: (body: Buffer) => string[]
  /** What follows the headers: the body, or a part or an encoding of it. */
  rest: (body: Buffer) => Buffer
  /** The server closes the connection, resets it after some time, or leaves it open. */
  end: 'close' | 'reset' | 'open'
}

const OK = 'HTTP/1.1 200 OK'
const CLOSE = 'Connection: close'
const CHUNKED = 'Transfer-Encoding: chunked'
const withLength = (body: Buffer) => [OK, `Content-Length: ${body.length}`]
const whole = (body: Buffer) => body
const half = (body: Buffer) => body.subarray(0, Math.floor(body.length / 2))
const chunk = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')])
const twoChunks = (body: Buffer) =>
  Buffer.concat([chunk(half(body)), chunk(body.subarray(half(body).length)), Buffer.from('0\r\n\r\n')])

const [IS_WHOLE, IS_CUT] = [{ isWhole: true }, { isWhole: false }]

export const ENDINGS: readonly Ending[] = [
  { name: 'with a length, and closes', ...IS_WHOLE, head: withLength, rest: whole, end: 'close' },
  { name: 'without a length, with Connection: close', ...IS_WHOLE, head: () => [OK, CLOSE], rest: whole, end: 'close' },
  { name: 'in HTTP/1.0 without a length', ...IS_WHOLE, head: () => ['HTTP/1.0 200 OK'], rest: whole, end: 'close' },
  { name: 'in chunks', ...IS_WHOLE, head: () => [OK, CHUNKED], rest: twoChunks, end: 'open' },
  { name: 'without its last chunk', ...IS_CUT, head: () => [OK, CHUNKED], rest: chunk, end: 'close' },
  { name: 'before its length', ...IS_CUT, head: withLength, rest: half, end: 'close' },
  { name: 'with a reset before its length', ...IS_CUT, head: withLength, rest: half, end: 'reset' },
  { name: 'with a reset, without a length', ...IS_CUT, head: () => [OK, CLOSE], rest: half, end: 'reset' },
  {
    name: 'compressed, although the request accepts no encoding',
    ...IS_WHOLE,
    head: () => [OK, CLOSE, 'Content-Encoding: gzip'],
    rest: (body) => gzipSync(body),
    end: 'close',
  },
]

async function send(socket: Socket, { head, rest, end }: Ending, body: Buffer): Promise<void> {
  socket.write([...head(body), '', ''].join('\r\n'))
  socket.write(rest(body))
  if (end === 'close') socket.end()
  if (end !== 'reset') return
  await sleep(20)
  socket.resetAndDestroy()
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
      if (ending && request.includes('\r\n\r\n')) void send(socket, ending, body)
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
