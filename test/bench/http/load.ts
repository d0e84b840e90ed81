/** The client of the benchmark `http`, in a process of its own: autocannon, told what to send by messages of its parent. */
import autocannon, { type Request } from 'autocannon'
import { stayAwake } from '../awake.ts'
import { sign } from '../paid/sign.ts'

/** How often autocannon looks whether its time is up. */
const SAMPLE_MS = 100

export interface Asked {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  headers: Record<string, string>
  body?: string
  /** The only one that is right. */
  status: number
  /** With a payment of its own each time. */
  isPaid?: boolean
}

export interface Load {
  url: string
  connections: number
  seconds: number
  /** In turn, on each connection. */
  requests: Asked[]
}

export interface Measured {
  requests: number
  seconds: number
  p50: number
  p99: number
  /** Answers of another status, as `METHOD path status`, and connections that broke. */
  wrong: string[]
}

function toRequest({ method, path, headers, body, status, isPaid = false }: Asked, wrong: Set<string>): Request {
  return {
    method,
    path,
    headers,
    ...(body !== undefined && { body }),
    ...(isPaid && {
      setupRequest: (request) => ({ ...request, headers: { ...headers, 'PAYMENT-SIGNATURE': sign() } }),
    }),
    onResponse: (got) => {
      if (got !== status) wrong.add(`${method} ${path} ${got}`)
    },
  }
}

function run({ url, connections, seconds, requests }: Load): Promise<Measured> {
  const wrong = new Set<string>()
  const times: number[] = []
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const instance = autocannon(
      {
        url,
        connections,
        duration: seconds,
        sampleInt: SAMPLE_MS,
        requests: requests.map((each) => toRequest(each, wrong)),
      },
      (fault: Error | null) => {
        if (fault) return reject(fault)
        const elapsed = (performance.now() - began) / 1000
        times.sort((one, other) => one - other)
        const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? Number.NaN
        resolve({ requests: times.length, seconds: elapsed, p50: at(0.5), p99: at(0.99), wrong: [...wrong] })
      },
    )
    // Its own histogram counts whole milliseconds.
    instance.on('response', (_client, _status, _bytes, milliseconds) => void times.push(milliseconds))
    instance.on('reqError', (fault: Error) => void wrong.add(fault.message))
  })
}

process.on('message', async (load: Load) => process.send?.(await run(load)))

stayAwake()
