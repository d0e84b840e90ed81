/** A connection that sends bytes unchanged and reads all responses. */
import { connect, type Socket } from 'node:net'
import { chunkedBytes } from '../load/chunked.ts'

export interface RawResponse {
  status: number
  /** Names in lower case. */
  headers: Map<string, string>
  /** Status line and header lines. */
  head: string
  text: string
}

/** Far above the time of any response on a loaded machine. */
const RESPONSE_MS_MAX = 10_000
/** After an incomplete request, a server that is silent for this long waits for the rest. */
const SILENCE_MS = 25

export class RawConnection {
  readonly #port: number
  #socket: Socket | undefined
  #bytes = Buffer.alloc(0)
  #wake = () => undefined as void
  #isEnded = false

  constructor(port: number) {
    this.#port = port
  }

  /** Sends a correctly framed request and reads its one response; undefined if there was none. */
  async send(bytes: Buffer, method: string): Promise<RawResponse | undefined> {
    await this.#open()
    this.#socket?.write(bytes)
    const response = await this.#read(method, RESPONSE_MS_MAX)
    if (!response || response.headers.get('connection') === 'close') this.close()
    return response
  }

  /** Sends bytes on a new connection and reads responses until the server is silent. */
  async sendUnframed(bytes: Buffer, method: string): Promise<RawResponse[]> {
    this.close()
    await this.#open()
    this.#socket?.write(bytes)
    const responses: RawResponse[] = []
    for (;;) {
      const response = await this.#read(responses.length === 0 ? method : '', SILENCE_MS)
      if (!response) break
      responses.push(response)
    }
    this.close()
    return responses
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

  async #read(method: string, milliseconds: number): Promise<RawResponse | undefined> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#wake()
    }, milliseconds)
    try {
      for (;;) {
        const response = this.#takeResponse(method)
        if (response && response.status >= 200) return response
        if (response) continue
        if (this.#isEnded || isLate) return undefined
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Takes the first complete response from the received bytes. */
  #takeResponse(method: string): RawResponse | undefined {
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
    const isChunked = headers.get('transfer-encoding') === 'chunked'
    if (!isBare && length === undefined && !isChunked && !this.#isEnded) return undefined
    const rest = this.#bytes.subarray(end + 4)
    const chunked = isChunked && !isBare ? chunkedBytes(rest) : 0
    if (chunked === undefined) return undefined
    const size = isBare ? 0 : isChunked ? chunked : Number(length ?? rest.length)
    if (rest.length < size) return undefined
    // A chunked body is compressed, and no fault is looked for in it.
    const text = isChunked ? '' : rest.subarray(0, size).toString()
    this.#bytes = rest.subarray(size)
    return { status, headers, head, text }
  }
}
