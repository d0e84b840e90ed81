/** A connection that sends bytes as they are, and reads whatever responses come back. */
import { connect, type Socket } from 'node:net'

export interface WireReply {
  status: number
  /** Lower case names. */
  headers: Map<string, string>
  /** Status line and header lines. */
  head: string
  text: string
}

/** Far above what any answer takes on a loaded machine. */
const ANSWER_MS_MAX = 10_000
/** After this a server that was left in the dark about the end of a request is waiting for more of it. */
const DARK_MS = 25

export class Wire {
  readonly #port: number
  #socket: Socket | undefined
  #bytes = Buffer.alloc(0)
  #wake = () => undefined as void
  #isEnded = false

  constructor(port: number) {
    this.#port = port
  }

  /** Sends a request whose end both sides know, and reads its one reply; undefined when there was none. */
  async ask(bytes: Buffer, method: string): Promise<WireReply | undefined> {
    await this.#open()
    this.#socket?.write(bytes)
    const reply = await this.#read(method, ANSWER_MS_MAX)
    if (!reply || reply.headers.get('connection') === 'close') this.close()
    return reply
  }

  /** Sends whatever it is on a connection of its own, and reads what comes until nothing more does. */
  async provoke(bytes: Buffer, method: string): Promise<WireReply[]> {
    this.close()
    await this.#open()
    this.#socket?.write(bytes)
    const replies: WireReply[] = []
    for (;;) {
      const reply = await this.#read(replies.length === 0 ? method : '', DARK_MS)
      if (!reply) break
      replies.push(reply)
    }
    this.close()
    return replies
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
    this.#bytes = Buffer.alloc(0)
  }

  async #open(): Promise<void> {
    if (this.#socket && !this.#isEnded) return
    this.close()
    this.#isEnded = false
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    this.#socket = socket
    const here = (work: () => void) => () => {
      if (this.#socket === socket) work()
    }
    socket.on('data', (chunk: Buffer) => {
      if (this.#socket !== socket) return
      this.#bytes = Buffer.concat([this.#bytes, chunk])
      this.#wake()
    })
    const end = here(() => {
      this.#isEnded = true
      this.#wake()
    })
    for (const event of ['error', 'end', 'close']) socket.on(event, end)
    await new Promise<void>((resolve) => void socket.once('connect', () => resolve()).once('error', () => resolve()))
  }

  async #read(method: string, milliseconds: number): Promise<WireReply | undefined> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#wake()
    }, milliseconds)
    try {
      for (;;) {
        const reply = this.#cut(method)
        if (reply && reply.status >= 200) return reply
        if (reply) continue
        if (this.#isEnded || isLate) return undefined
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** The first whole reply of what has come. */
  #cut(method: string): WireReply | undefined {
    const end = this.#bytes.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const head = this.#bytes.subarray(0, end).toString('latin1')
    const [first = '', ...lines] = head.split('\r\n')
    const headers = new Map(
      lines.map((line) => [line.replace(/:.*/s, '').toLowerCase(), line.replace(/^[^:]*: ?/, '')]),
    )
    const status = Number(/^HTTP\/1\.1 ([0-9]{3}) /.exec(first)?.[1] ?? 999)
    const isBare = method === 'HEAD' || status < 200 || status === 204 || status === 304
    const length = headers.get('content-length')
    if (!isBare && length === undefined && !this.#isEnded) return undefined
    const size = isBare ? 0 : Number(length ?? this.#bytes.length - end - 4)
    if (this.#bytes.length < end + 4 + size) return undefined
    const text = this.#bytes.subarray(end + 4, end + 4 + size).toString()
    this.#bytes = this.#bytes.subarray(end + 4 + size)
    return { status, headers, head, text }
  }
}
