/**
 * `bench soak [--minutes N] [--rows N] [--connections N]`: everything that clients send, mixed, while silent and slow
 * connections are held open and a new snapshot is imported. Then clients pipeline requests without reading the answers.
 * Fails on a wrong status, a response that mixes two snapshots, metrics that differ from the requests sent, or a held
 * connection that is not closed. From three minutes on, also fails when the heap grows, or when pipelining delays another
 * client or needs too much memory.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openSnapshot } from '../../store/snapshot.ts'
import { snapshotFolder } from '../../store/layout.ts'
import { generateArchive, readCorpus } from './generated-register.ts'
import { Connection, toBytes, type LoadRequest } from './load/client.ts'
import { RequestCounts, UNKNOWN_PATH } from './load/request-counts.ts'
import { measurePipelining, type PipeliningResult } from './load/pipelining.ts'
import { nextMessage, residentMemory, startServer, testProgram, type ServerProcess } from './load/server-process.ts'
import { signPayment } from './load/sign.ts'
import { lookupPath, WORKLOADS, type Corpus } from './load/workloads.ts'
import { describeMachine } from './machine.ts'
import { markdown } from './markdown.ts'
import { serviceEnvironment } from './perf/http-rounds.ts'
import { median } from './statistics.ts'

const MINUTES_DEFAULT = '10'
const ROWS_DEFAULT = '20000'
const HELD_CONNECTIONS_DEFAULT = '1000'
/** Fewer than the A2A calls that the service takes at once; more would get 503. */
const CLIENTS = 8
const SAMPLES = 60
/** Shorter runs are too noisy to judge memory. */
const JUDGED_MINUTES_MIN = 3
/** The heap after a garbage collection varies by about this much. */
const HEAP_GROWTH_MIB_MAX = 3
/** Clients that pipeline requests. */
const PIPELINING_CONNECTIONS = [180, 500]
const PIPELINING_SECONDS = 10
const PIPELINING_SECONDS_UNJUDGED = 1
const PIPELINING_P99_MS_MAX = 1_000
const PIPELINING_ANONYMOUS_MIB_MAX = 400
const DRIP_MS = 1_000
/** Above every time limit that the service has for a connection. */
const CLOSE_MS_MAX = 120_000

interface Sample {
  heap: number
  anonymous: number
}

interface Result {
  requests: number
  counts: RequestCounts
  faults: Set<string>
  samples: Sample[]
}

interface WholeResult extends Result {
  pipelining: PipeliningResult[]
}

export async function soak(options: Record<string, string>): Promise<boolean> {
  const { minutes: text = MINUTES_DEFAULT, rows = ROWS_DEFAULT, connections = HELD_CONNECTIONS_DEFAULT } = options
  const minutes = Number(text)
  const directory = await mkdtemp(join(tmpdir(), 'soak-'))
  try {
    const archives = [join(directory, '1.zip'), join(directory, '2.zip')] as const
    for (const [index, path] of archives.entries()) await generateArchive({ rows: Number(rows), seed: index + 1, path })
    const dataset = join(directory, 'register.zip')
    await copyFile(archives[0], dataset)
    const environment = { ...serviceEnvironment(join(directory, 'data'), dataset), ADMIN_PORT: '0' }
    await using service = await startServer({ name: 'service', program: testProgram('stubbed-service'), environment })
    const held = holdConnections(service.url, Number(connections))
    const snapshots = new SnapshotCheck(join(directory, 'data'))
    const corpus = await readCorpus(join(directory, 'data'))
    const importing = importLater(service, { dataset, archive: archives[1], delayMs: minutes * 10_000 })
    const result = await run(service, { corpus, minutes, snapshots })
    await importing
    for (const fault of await compareMetrics(service, result.counts)) result.faults.add(fault)
    const stillOpen = await held.closed()
    if (stillOpen > 0) result.faults.add(`${stillOpen} held connections are still open`)
    for (const fault of await snapshots.check()) result.faults.add(fault)
    const pipelining = await measureAllPipelining(service, { corpus, minutes })
    return report({ ...result, pipelining }, { minutes, connections })
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function run(
  service: ServerProcess,
  { corpus, minutes, snapshots }: { corpus: Corpus; minutes: number; snapshots: SnapshotCheck },
): Promise<Result> {
  const requests = await mixedRequests(service.url, corpus)
  const result: Result = { requests: 0, counts: new RequestCounts(), faults: new Set(), samples: [] }
  const end = performance.now() + minutes * 60_000
  async function client(_: unknown, index: number): Promise<void> {
    let connection = await Connection.open(service.url)
    for (let next = index; performance.now() < end; next += 1) {
      const request = requests[next % requests.length]?.() as LoadRequest
      try {
        const { status, body } = await connection.send(toBytes(request))
        if (status !== request.status) result.faults.add(`${request.path} got ${status} instead of ${request.status}`)
        else if (status === 200 && request.path.startsWith(lookupPath(''))) snapshots.add(body)
        result.requests += 1
        result.counts.add(request, status)
      } catch {
        // The service closes a connection after some refusals.
        connection = await Connection.open(service.url)
      }
    }
    connection[Symbol.dispose]()
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, client))
  for (let count = 0; count < SAMPLES; count += 1) {
    await sleep((minutes * 60_000) / SAMPLES)
    service.child.send({})
    const { heapUsed, external } = await nextMessage<NodeJS.MemoryUsage>(service.child)
    const anonymous = residentMemory(service.child.pid, 'RssAnon')
    result.samples.push({ heap: (heapUsed + external) / 2 ** 20, anonymous })
  }
  await clients
  return result
}

/** This process requests the card at the start and the metadata during the import without counting them. */
const UNCOUNTED_PATHS = ['/.well-known/agent-card.json', '/api/v1/meta']

async function compareMetrics({ child }: ServerProcess, counts: RequestCounts): Promise<string[]> {
  child.send({ metrics: true })
  return counts.compare(await nextMessage<string>(child), UNCOUNTED_PATHS)
}

/** Quotes and documents of another client beside each number of pipelining clients. */
async function measureAllPipelining(
  service: ServerProcess,
  { corpus, minutes }: { corpus: Corpus; minutes: number },
): Promise<PipeliningResult[]> {
  const requests = [
    { path: lookupPath(corpus.companyNumbers[0] ?? ''), status: 402 },
    { path: '/attribution', status: 200 },
  ]
  const seconds = minutes >= JUDGED_MINUTES_MIN ? PIPELINING_SECONDS : PIPELINING_SECONDS_UNJUDGED
  const results: PipeliningResult[] = []
  for (const connections of PIPELINING_CONNECTIONS)
    results.push(await measurePipelining(service, { connections, seconds, requests }))
  return results
}

/** One of each kind of request; a function each, because every sale needs a new payment. */
async function mixedRequests(url: string, corpus: Corpus): Promise<(() => LoadRequest)[]> {
  const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as AgentCard
  const json = { 'Content-Type': 'application/json' }
  const a2a = { ...json, 'A2A-Version': '1.0', 'A2A-Extensions': card.capabilities.extensions[0]?.uri ?? '' }
  const sold = { 'PAYMENT-SIGNATURE': signPayment() }
  const lookup = lookupPath(corpus.companyNumbers[0] ?? '')
  const post = (path: string, status: number, headers: Record<string, string>, body: object | string): LoadRequest => {
    return { method: 'POST', path, status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
  }
  const message = (part: object) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: 'soak', role: 'ROLE_USER', parts: [part] } },
  })
  const fixed: LoadRequest[] = [
    { path: lookup, status: 402 },
    { path: lookup, status: 200, headers: sold },
    { path: '/api/v1/search?q=example%20trading&limit=3', status: 402 },
    post('/api/v1/resolve', 402, json, { name: 'Example Trading Ltd', eircode: 'D02 X285' }),
    { path: '/api/v1/meta', status: 200 },
    { path: '/attribution', status: 200 },
    { path: '/docs', status: 200, headers: { Accept: 'text/html', 'Accept-Encoding': 'br' } },
    { path: '/openapi.json', status: 200 },
    { path: '/llms.txt', status: 200, headers: { 'Accept-Encoding': 'gzip' } },
    post('/a2a', 200, a2a, message({ text: 'What do you sell?' })),
    post('/a2a', 402, a2a, message({ data: { operation: 'lookup', input: { company_number: '73848' } } })),
    { path: lookup, status: 402, headers: { 'PAYMENT-SIGNATURE': 'bm9uZQ==' } },
    { path: '/api/v1/company/none', status: 400 },
    { path: '/api/v1/search', status: 400 },
    { path: UNKNOWN_PATH, status: 404 },
    { method: 'PUT', path: lookup, status: 405 },
    post('/api/v1/resolve', 400, json, '{'),
    post('/a2a', 200, a2a, '{'),
  ]
  const sale = () => WORKLOADS['paid lookup'].build(corpus, 1)[0] as LoadRequest
  return [...fixed.map((request) => () => request), sale, sale]
}

interface AgentCard {
  capabilities: { extensions: { uri: string }[] }
}

/** Replaces the archive and makes the daily retrieval due; resolves when the new snapshot is served. */
async function importLater(
  { url, child }: ServerProcess,
  { dataset, archive, delayMs }: { dataset: string; archive: string; delayMs: number },
): Promise<void> {
  const served = async () => {
    const meta = (await (await fetch(`${url}/api/v1/meta`)).json()) as { snapshot_id: string }
    return meta.snapshot_id
  }
  const before = await served()
  await sleep(delayMs)
  await copyFile(archive, dataset)
  child.kill('SIGUSR2')
  while ((await served()) === before) await sleep(DRIP_MS)
}

/** Half of the connections send nothing; the others send a header byte each second. */
function holdConnections(url: string, count: number): { closed(): Promise<number> } {
  const { port, hostname } = new URL(url)
  const open = new Set<Socket>()
  for (let index = 0; index < count; index += 1) {
    const socket = connect(Number(port), hostname)
    open.add(socket)
    if (index % 2 === 0) socket.write('GET /attribution HTTP/1.1\r\nHost: bench\r\nX: ')
    const drip = index % 2 === 0 ? setInterval(() => socket.write('a'), DRIP_MS) : undefined
    socket.on('data', () => undefined).on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(drip)
      open.delete(socket)
    })
  }
  return {
    async closed() {
      for (const end = performance.now() + CLOSE_MS_MAX; open.size > 0 && performance.now() < end;) await sleep(DRIP_MS)
      return open.size
    },
  }
}

/** Checks that every record that was sold is the one of the snapshot that the response names. */
class SnapshotCheck {
  readonly #dataDirectory: string
  /** Names by snapshot and company number. */
  readonly #sold = new Map<string, Map<string, string>>()

  constructor(dataDirectory: string) {
    this.#dataDirectory = dataDirectory
  }

  add(body: string): void {
    const { snapshot_id, company } = JSON.parse(body) as {
      snapshot_id: string
      company: { company_number: string; legal_name: string }
    }
    const names = this.#sold.get(snapshot_id) ?? new Map<string, string>()
    this.#sold.set(snapshot_id, names.set(company.company_number, company.legal_name))
  }

  async check(): Promise<string[]> {
    const faults: string[] = []
    for (const [id, names] of this.#sold) {
      const snapshot = openSnapshot(snapshotFolder(this.#dataDirectory, id))
      for (const [number, name] of names) {
        const entry = snapshot.find(number)
        if (entry === undefined || entry === 'quarantined' || entry.legal_name !== name)
          faults.push(`company ${number} was sold with data of another snapshot than ${id}`)
      }
      await snapshot.close()
    }
    return faults
  }
}

function report(result: WholeResult, options: { minutes: number; connections: string }): boolean {
  const { requests, faults, samples, pipelining } = result
  const isJudged = options.minutes >= JUDGED_MINUTES_MIN
  const thirdOf = (at: number, of: keyof Sample) =>
    median(samples.slice((SAMPLES * at) / 3, (SAMPLES * (at + 1)) / 3).map((sample) => sample[of]))
  const figures = (of: keyof Sample) => [0, 1, 2].map((at) => thirdOf(at, of).toFixed(1))
  const rows = [
    ['heap', ...figures('heap')],
    ['anonymous', ...figures('anonymous')],
  ]
  const growth = thirdOf(2, 'heap') - thirdOf(1, 'heap')
  if (isJudged && growth >= HEAP_GROWTH_MIB_MAX) faults.add(`the heap grew by ${growth.toFixed(1)} MiB`)
  for (const { connections, p99, anonymousMiB } of isJudged ? pipelining : []) {
    if (p99 >= PIPELINING_P99_MS_MAX) faults.add(`${connections} pipelining clients: p99 ${p99.toFixed(0)} ms`)
    if (anonymousMiB >= PIPELINING_ANONYMOUS_MIB_MAX)
      faults.add(`${connections} pipelining clients: ${anonymousMiB.toFixed(0)} MiB of anonymous memory`)
  }
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  print(`${describeMachine()}\n`)
  print(`${markdown(['memory, MiB', 'first third', 'middle third', 'last third'], rows)}\n`)
  const headings = ['pipelining clients', 'p99 of another client, ms', 'anonymous memory, MiB']
  const rowOf = ({ connections, p99, anonymousMiB }: PipeliningResult) => [
    String(connections),
    p99.toFixed(1),
    anonymousMiB.toFixed(0),
  ]
  print(`${markdown(headings, pipelining.map(rowOf))}\n`)
  for (const fault of faults) print(`FAULT ${fault}`)
  const memory = isJudged ? '' : `, memory and latency not judged below ${JUDGED_MINUTES_MIN} minutes`
  print(`${requests} requests, ${options.connections} held connections, 1 import, ${faults.size} faults${memory}`)
  return faults.size === 0
}
