/** An HTTP/1.1 client over plain sockets. A client library would take more CPU time than the server under test. */
import { connect, type Socket } from 'node:net'
import { median } from '../statistics.ts'
import { cpuMicroseconds, type ServerProcess } from './server-process.ts'

export interface LoadRequest {
  method?: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
  /** The status that the response must have. */
  status: number
  /** Text that the response must have. */
  contains?: string
}

interface LoadResponse {
  status: number
  body: string
}

/** One connection that is kept alive and carries one request at a time. */
class Connection implements Disposable {
  readonly #socket: Socket
  #parts: Buffer[] = []
  #bytes = 0
  #expected: { head: number; total: number } | undefined
  #pending: { resolve: (response: LoadResponse) => void; reject: (cause: Error) => void } | undefined

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).on('data', (part: Buffer) => this.#receive(part))
    socket.on('close', () => this.#pending?.reject(new Error('The server closed the connection')))
  }

  static open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => resolve(new Connection(socket))).on('error', reject)
    })
  }

  send(bytes: string): Promise<LoadResponse> {
    return new Promise((resolve, reject) => {
      if (!this.#socket.writable) return reject(new Error('The server closed the connection'))
      this.#pending = { resolve, reject }
      this.#socket.write(bytes)
    })
  }

  [Symbol.dispose](): void {
    this.#pending = undefined
    this.#socket.destroy()
  }

  #receive(part: Buffer): void {
    this.#parts.push(part)
    this.#bytes += part.length
    this.#expected ??= expectedBytes(Buffer.concat(this.#parts))
    if (!this.#expected || this.#bytes < this.#expected.total) return
    const whole = Buffer.concat(this.#parts)
    const response = {
      status: Number(whole.toString('latin1', 9, 12)),
      body: whole.toString('utf8', this.#expected.head),
    }
    this.#parts = []
    this.#bytes = 0
    this.#expected = undefined
    this.#pending?.resolve(response)
  }
}

function expectedBytes(received: Buffer): { head: number; total: number } | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(received.toString('latin1', 0, end)) ?? []
  if (length === undefined) throw new Error('The response has no Content-Length')
  return { head: end + 4, total: end + 4 + Number(length) }
}

function toBytes({ method = 'GET', path, headers = {}, body }: LoadRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:4021\r\n${lines.join('')}${length}\r\n${body ?? ''}`
}

export interface LoadResult {
  /** Milliseconds. */
  p50: number
  /** CPU time of the server for each request. */
  cpuMicroseconds: number
  /** Requests a second. */
  rate: number
}

/**
 * Sends all requests over so many connections. Throws at a response with another status than expected. The remote
 * services of the server run on the core of this client, which then must not keep it busy.
 */
export async function sendLoad(
  server: ServerProcess,
  {
    requests,
    connections,
    usesRemotes = false,
  }: { requests: readonly LoadRequest[]; connections: number; usesRemotes?: boolean },
): Promise<LoadResult> {
  const messages = requests.map((request) => ({ bytes: toBytes(request), request }))
  const times: number[] = []
  let next = 0
  async function work(): Promise<void> {
    using connection = await Connection.open(server.url)
    for (let message = messages[next++]; message; message = messages[next++]) {
      const began = performance.now()
      const { status, body } = await connection.send(message.bytes)
      times.push(performance.now() - began)
      const { path, status: wanted, contains = '' } = message.request
      if (status !== wanted || !body.includes(contains))
        throw new Error(`${server.name}: ${path} got ${status} instead of ${wanted}: ${body}`)
    }
  }
  using _ = usesRemotes ? undefined : stayAwake()
  const began = performance.now()
  const before = cpuMicroseconds(server.child)
  await Promise.all(Array.from({ length: connections }, work))
  const cpu = cpuMicroseconds(server.child) - before
  const rate = times.length / ((performance.now() - began) / 1000)
  return { p50: median(times), cpuMicroseconds: cpu / times.length, rate }
}

/**
 * Keeps the event loop busy. On a virtual machine, waking a sleeping client takes as long as a request, and the write
 * that wakes it is charged to the server.
 */
function stayAwake(): Disposable {
  let isRunning = true
  const spin = () => {
    if (isRunning) setImmediate(spin)
  }
  spin()
  return { [Symbol.dispose]: () => void (isRunning = false) }
}
