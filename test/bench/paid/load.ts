/**
 * The buyers of the benchmark `paid-path`, in a process of their own so that they cost the server nothing. They speak
 * HTTP/1.1 over plain sockets: a client library would take more time than the server that is measured. Told what to do by
 * messages of the parent process.
 */
import { connect, type Socket } from 'node:net'
import { stayAwake } from '../awake.ts'
import { measured, type Measured } from './measured.ts'
import { sign } from './sign.ts'

/** Which payment goes with each request. */
export type Paying = 'none' | 'one' | 'each_new' | 'sold' | 'any'

export interface Load {
  port: number
  path: string
  paying: Paying
  concurrency: number
  durationMs: number
  /** Ends earlier when so many were sent. */
  requestsMax?: number
  /** The only status that counts. */
  status: number
}

type Order = { sign: number } | Load
export type Reply = { signed: number } | Measured

let payments: string[] = []
let unused: string[] = []

function nextPayment(paying: Paying, at: number): string | undefined {
  switch (paying) {
    case 'none':
      return ''
    case 'one':
      return payments[0]
    case 'each_new':
      return unused.pop()
    case 'sold':
      // The others after the first, those that 'each_new' has taken: the longest ago comes first.
      return payments.at(-1 - (at % (payments.length - 1 - unused.length)))
    case 'any':
      return payments[at % payments.length]
  }
}

/** One connection, kept alive; a request at a time. */
class Connection {
  readonly #socket: Socket
  #parts: Buffer[] = []
  #bytes = 0
  #expected = 0
  #done: ((status: number) => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).on('data', (part: Buffer) => this.#take(part))
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new Connection(socket))).on('error', reject)
    })
  }

  send(request: string): Promise<number> {
    return new Promise((resolve) => {
      this.#done = resolve
      this.#socket.write(request, 'latin1')
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(part: Buffer): void {
    this.#parts.push(part)
    this.#bytes += part.length
    if (this.#expected === 0) this.#expected = lengthOf(Buffer.concat(this.#parts).toString('latin1'))
    if (this.#expected === 0 || this.#bytes < this.#expected) return
    const status = Number(this.#parts[0]?.toString('latin1', 9, 12))
    this.#parts = []
    this.#bytes = 0
    this.#expected = 0
    this.#done?.(status)
  }
}

/** Of head and body together; 0 while the head is not complete. */
function lengthOf(text: string): number {
  const end = text.indexOf('\r\n\r\n')
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(end === -1 ? '' : text.slice(0, end)) ?? []
  if (end !== -1 && length === undefined) throw new Error('A response without a length')
  return end === -1 ? 0 : end + 4 + Number(length)
}

async function run({
  port,
  path,
  paying,
  concurrency,
  durationMs,
  requestsMax = Infinity,
  status,
}: Load): Promise<Measured> {
  const times: number[] = []
  const began = performance.now()
  let sent = 0
  async function buyer(): Promise<void> {
    const connection = await Connection.open(port)
    while (performance.now() - began < durationMs && sent < requestsMax) {
      const payment = nextPayment(paying, sent)
      if (payment === undefined) break
      sent += 1
      const line = payment === '' ? '' : `PAYMENT-SIGNATURE: ${payment}\r\n`
      const start = performance.now()
      const got = await connection.send(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:4021\r\n${line}\r\n`)
      times.push(performance.now() - start)
      if (got !== status) throw new Error(`HTTP ${got}`)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: concurrency }, buyer))
  return measured(times, performance.now() - began)
}

process.on('message', async (order: Order) => {
  if ('sign' in order) {
    payments = Array.from({ length: order.sign }, sign)
    unused = payments.slice(1)
    process.send?.({ signed: payments.length } satisfies Reply)
  } else {
    process.send?.((await run(order)) satisfies Reply)
  }
})

stayAwake()
