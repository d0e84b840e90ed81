/**
 * `npm run bench -- http [--seconds N]`: HTTP under load. The whole service, a bare node:http server and a bare Express 5
 * that send as many bytes of head and body, each in a process on one core, are asked in turn by autocannon on another.
 * Where the client is the slower of the two, as beside a bare server, the share of requests a second flatters us and the
 * CPU of the server is the honest figure; that counts all threads. `--soak MINUTES` and `--connections N` are two other
 * runs (test/bench/http). Fails on a wrong answer.
 */
import type { ChildProcess } from 'node:child_process'
import { get, type IncomingMessage } from 'node:http'
import { holdConnections } from './http/connections.ts'
import type { Asked, Load, Measured } from './http/load.ts'
import type { PlainAnswer } from './http/plain.ts'
import { ask, cpuMicroseconds, machine, startClient, startPlain, startService } from './http/processes.ts'
import { soak } from './http/soak.ts'
import { sign } from './paid/sign.ts'
import { LOOKUP_PATH } from './shop.ts'
import { markdown } from './targets.ts'

const SECONDS_DEFAULT = '2'
const CONNECTIONS = [1, 8, 64, 256]
/** Each server has its time in so many parts, between the others'. */
const TURNS = 2
/** A shorter run shows that the benchmark works, and nothing else: one part each, at fewer connections. */
const SECONDS_TOLD_MIN = 1
const CONNECTIONS_SHORT = [1, 64]
const WARM_UP = { connections: 8, share: 0.5 }
/** Node writes these itself. */
const OWN_HEADERS = new Set(['date', 'connection', 'keep-alive'])

interface Subject extends Asked {
  name: string
}

interface Server {
  name: string
  process: ChildProcess
  url: string
}

interface Row {
  subject: string
  connections: number
  server: string
  perSecond: number
  p50: number
  p99: number
  cpu: number
}

export async function http(options: Record<string, string>): Promise<boolean> {
  const { seconds = SECONDS_DEFAULT, soak: minutes, connections } = options
  process.stdout.write(`${machine()}\n\n`)
  if (minutes !== undefined) return soak(Number(minutes))
  if (connections !== undefined) return holdConnections(Number(connections))
  const service = await startService()
  const plain = [startPlain('node'), startPlain('express')] as const
  const client = startClient()
  try {
    const subjects = subjectsOf()
    const answers = await Promise.all(subjects.map((subject) => plainAnswer(service.url, subject)))
    const [node, stock] = await Promise.all(plain.map((each) => ask<number>(each, answers)))
    const servers = [
      { name: 'node:http', process: plain[0], url: `http://127.0.0.1:${node}` },
      { name: 'Express 5', process: plain[1], url: `http://127.0.0.1:${stock}` },
      { name: 'service', process: service.process, url: service.url },
    ]
    return await measureAll({ servers, subjects, client, seconds: Number(seconds) })
  } finally {
    for (const each of [client, ...plain]) each.kill()
    await service.stop()
  }
}

function subjectsOf(): Subject[] {
  const ofService = { method: 'GET', headers: {} } as const
  const ofBrowser = { method: 'GET', headers: { Accept: 'text/html, */*', 'Accept-Encoding': 'gzip, br' } } as const
  const payment = { 'PAYMENT-SIGNATURE': sign() }
  return [
    // Of another company than is replayed: the plain servers know answers by their paths.
    { ...ofService, name: 'quote (402)', path: '/api/v1/company/104547', status: 402 },
    { ...ofService, name: 'replay of a stored answer', path: LOOKUP_PATH, headers: payment, status: 200 },
    { ...ofService, name: '`/api/v1/meta`', path: '/api/v1/meta', status: 200 },
    { ...ofBrowser, name: '`/docs`', path: '/docs', status: 200 },
    { ...ofBrowser, name: '`/openapi.json`', path: '/openapi.json', status: 200 },
    { ...ofBrowser, name: '`/llms.txt`', path: '/llms.txt', status: 200 },
  ]
}

/** Asks the service once, which also buys what is replayed, for an answer that is as long and says nothing. */
async function plainAnswer(url: string, { name, path, headers, status }: Subject): Promise<PlainAnswer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}${path}`, { headers }, resolve).on('error', reject)
  })
  let bytes = 0
  for await (const chunk of response) bytes += (chunk as Buffer).length
  if (response.statusCode !== status) throw new Error(`${name}: HTTP ${response.statusCode}`)
  const sent = Object.entries(response.headers).filter(([header]) => !OWN_HEADERS.has(header))
  return { path, status, headers: Object.fromEntries(sent.map(([header, value]) => [header, String(value)])), bytes }
}

interface Plan {
  servers: Server[]
  subjects: Subject[]
  client: ChildProcess
  seconds: number
}

async function measureAll({ servers, subjects, client, seconds }: Plan): Promise<boolean> {
  const wrong = new Set<string>()
  const part = async (server: Server, subject: Subject, connections: number, share: number) => {
    const load: Load = { url: server.url, connections, seconds: seconds * share, requests: [subject] }
    const before = cpuMicroseconds(server.process)
    const measured = await ask<Measured>(client, load)
    for (const each of measured.wrong) wrong.add(`${server.name}: ${each}`)
    return { ...measured, cpu: cpuMicroseconds(server.process) - before }
  }
  for (const subject of subjects) {
    for (const server of servers) await part(server, subject, WARM_UP.connections, WARM_UP.share)
  }
  const rows: Row[] = []
  const [counts, turns] = seconds < SECONDS_TOLD_MIN ? [CONNECTIONS_SHORT, 1] : [CONNECTIONS, TURNS]
  for (const connections of counts) {
    for (const subject of subjects) {
      const parts = new Map(servers.map((server) => [server, [] as (Measured & { cpu: number })[]]))
      for (let turn = 0; turn < turns; turn += 1) {
        for (const [server, its] of parts) its.push(await part(server, subject, connections, 1 / turns))
      }
      for (const [server, its] of parts) {
        rows.push({ subject: subject.name, connections, server: server.name, ...together(its) })
      }
    }
  }
  process.stdout.write(`${tableOf(rows)}\n`)
  for (const each of wrong) process.stdout.write(`WRONG: ${each}\n`)
  return wrong.size === 0
}

/** The better of the times, which others on the machine disturbed less, and the sum of the rest. */
function together(parts: (Measured & { cpu: number })[]): Pick<Row, 'perSecond' | 'p50' | 'p99' | 'cpu'> {
  const sum = (of: (part: Measured & { cpu: number }) => number) => parts.reduce((all, part) => all + of(part), 0)
  const requests = sum((part) => part.requests)
  const best = (times: number[]) => Math.min(...times.filter((time) => !Number.isNaN(time)))
  return {
    perSecond: requests / sum((part) => part.seconds),
    p50: best(parts.map(({ p50 }) => p50)),
    p99: best(parts.map(({ p99 }) => p99)),
    cpu: sum(({ cpu }) => cpu) / requests,
  }
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const { subject, connections, server, perSecond, p50, p99, cpu } = row
    const bare = rows.find((each) => each.subject === subject && each.connections === connections)
    const [toBare, cpuToBare] = [perSecond / (bare?.perSecond ?? Number.NaN), cpu / (bare?.cpu ?? Number.NaN)]
    const figures = [figure(p50, 3), figure(p99, 2), figure(cpu, 0), figure(toBare, 2), figure(cpuToBare, 2)]
    return [subject, String(connections), server, figure(perSecond, 0), ...figures]
  })
  const headings = [
    'request',
    'at once',
    'server',
    'a second',
    'p50 ms',
    'p99 ms',
    'CPU us',
    '/s to bare',
    'CPU to bare',
  ]
  return markdown(headings, lines)
}

/** A part of a second can be too short for any answer. */
function figure(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : '-'
}
