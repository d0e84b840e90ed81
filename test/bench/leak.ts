/**
 * `bench leak [--requests N] [--only TEXT]`: sends many requests of each kind to the command `serve`, in rounds, and
 * reads its heap after each. Fails if the heap grows in every round: a cache grows only until it is full, and the
 * compiler only for some rounds.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { messageBody, toolCall } from '../support/transports.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { makeRegister, readCorpus } from './generated-register.ts'
import { sendLoad, type LoadRequest } from './load/client.ts'
import { BATCH_PATH, REFUSED_BODIES } from './load/refused-bodies.ts'
import { heapBytes, startRemotes, startService, type ServerProcess } from './load/server-process.ts'
import { WORKLOADS, type Corpus, type WorkloadName } from './load/workloads.ts'
import { serviceEnvironment } from './perf/http-rounds.ts'
import { markdown, print } from './report.ts'

const REQUESTS_DEFAULT = '500'
const CONNECTIONS = 8
const ROUNDS = 5
const ROWS = 3_000
/** Of one request. The smallest object that a request could leave behind is larger, with what it refers to. */
const LEAKED_BYTES_MAX = 1_000
const JSON_TYPE = { 'Content-Type': 'application/json' }

/** Sends so many requests of a kind. */
type Send = (service: ServerProcess, corpus: Corpus, count: number) => Promise<unknown>

/** The payment that is replayed can be bought for some minutes only. */
const SALES: WorkloadName[] = ['replay', 'paid lookup', 'paid lookup over MCP', 'search', 'resolve', 'quote']

const repeated =
  (request: LoadRequest): Send =>
  (service, _corpus, count) =>
    sendLoad(service, { requests: Array<LoadRequest>(count).fill(request), connections: CONNECTIONS })

const { body: ping, headers: mcp } = toolCall({ operation: 'service_info', input: {} })
const a2aHeaders = { ...JSON_TYPE, 'A2A-Version': '1.0' }
const post = (path: string, status: number, body: string, headers: Record<string, string> = JSON_TYPE): Send =>
  repeated({ method: 'POST', path, status, body, headers })

const KINDS: Record<string, Send> = {
  ...Object.fromEntries(
    SALES.map((name): [string, Send] => [
      name,
      async (service, corpus, count) => {
        const requests = WORKLOADS[name].build(corpus, count)
        // At most four requests at once wait for the settlement of one payment.
        if (name === 'replay') await sendLoad(service, { requests: requests.slice(0, 1), connections: 1 })
        const usesRemotes = WORKLOADS[name].usesRemotes === true
        return sendLoad(service, { requests, connections: CONNECTIONS, usesRemotes })
      },
    ]),
  ),
  'free tool over MCP': post('/mcp', 200, JSON.stringify(ping), { ...JSON_TYPE, ...mcp }),
  'text over A2A': post('/a2a', 200, messageBody({ parts: [{ text: 'hello' }] }), a2aHeaders),
  'fault over A2A': post('/a2a', 200, '{', a2aHeaders),
  'refused body': post(BATCH_PATH, 400, REFUSED_BODIES['refused members'].body),
  'unknown path': repeated({ path: '/nowhere', status: 404 }),
  document: repeated({ path: '/openapi.json', status: 200 }),
  'unreadable payment': repeated({
    path: '/api/v1/company/1',
    status: 402,
    headers: { 'PAYMENT-SIGNATURE': 'bm9uZQ==' },
  }),
  'connection that is ended': async ({ url }, _corpus, count) => {
    for (let sent = 0; sent < count; sent += 1) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nno header\r\n\r\n')
      await once(socket, 'data')
      socket.destroy()
    }
  },
}

export async function leak({ requests = REQUESTS_DEFAULT, only = '' }: Record<string, string>): Promise<boolean> {
  const directory = await makeTemporaryDirectory()
  const { archive, dataDirectory } = await makeRegister(directory, ROWS)
  const corpus = await readCorpus(dataDirectory)
  await using remotes = await startRemotes()
  const environment = serviceEnvironment(dataDirectory, { dataset: archive, remotes: remotes.url })
  await using service = await startService('service', environment)
  const lines: string[][] = []
  let faults = 0
  for (const [kind, send] of Object.entries(KINDS).filter(([name]) => name.includes(only))) {
    const heaps: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      await send(service, corpus, Number(requests))
      heaps.push(await heapBytes(service))
    }
    const grown = heaps.slice(1).map((bytes, at) => (bytes - (heaps[at] ?? 0)) / Number(requests))
    if (Math.min(...grown) > LEAKED_BYTES_MAX) faults += 1
    lines.push([kind, ...grown.map((bytes) => bytes.toFixed(0))])
  }
  print(`${markdown(['bytes of heap for each request', 'round 2', 'round 3', 'round 4', 'round 5'], lines)}\n`)
  print(`${requests} requests of each of ${lines.length} kinds in each round: ${faults} kinds leave memory behind`)
  return faults === 0
}
