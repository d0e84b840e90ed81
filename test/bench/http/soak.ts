/**
 * `npm run bench -- http --soak MINUTES`: everything that clients send, mixed, for as long as is asked, and what the service
 * then holds in memory. The last third of the samples is held against the middle one; the first warms up, and fills the
 * rate limit's minute. Judged from three minutes on.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sign } from '../paid/sign.ts'
import { LOOKUP_PATH } from '../shop.ts'
import { markdown, median } from '../targets.ts'
import type { Asked, Load, Measured } from './load.ts'
import { ask, memoryOf, startClient, startService, type Memory } from './processes.ts'

/** Fewer than the calls that the A2A route takes at once, which would answer 503. */
const CONNECTIONS = 8
const SAMPLES = 60
const MINUTES_JUDGED_MIN = 3
/** What a garbage collection leaves differs by so much from one to the next. */
const HEAP_GROWTH_MIB_MAX = 3

interface Sample extends Memory {
  seconds: number
}

export async function soak(minutes: number): Promise<boolean> {
  const service = await startService()
  const client = startClient()
  try {
    const requests = await mixed(service.url)
    await ask(client, loadOf(service.url, 1, requests))
    const measuring = ask<Measured>(client, loadOf(service.url, minutes * 60, requests))
    const samples: Sample[] = []
    const began = performance.now()
    for (let count = 1; count <= SAMPLES; count += 1) {
      await sleep(Math.max(0, began + (minutes * 60_000 * count) / SAMPLES - performance.now()))
      samples.push({ seconds: (performance.now() - began) / 1000, ...(await memoryOf(service.process)) })
    }
    return report(await measuring, samples, minutes >= MINUTES_JUDGED_MIN)
  } finally {
    client.kill()
    await service.stop()
  }
}

function loadOf(url: string, seconds: number, requests: Asked[]): Load {
  return { url, connections: CONNECTIONS, seconds, requests }
}

async function mixed(url: string): Promise<Asked[]> {
  const get = (path: string, status: number, headers: Record<string, string> = {}): Asked => {
    return { method: 'GET', path, headers, status }
  }
  const json = { 'Content-Type': 'application/json' }
  const kept = { 'PAYMENT-SIGNATURE': sign() }
  const bought = await fetch(`${url}${LOOKUP_PATH}`, { headers: kept })
  if (bought.status !== 200) throw new Error(`HTTP ${bought.status}`)
  const a2a = { ...json, 'A2A-Version': '1.0', 'A2A-Extensions': await extensionOf(url) }
  const post = (path: string, status: number, headers: Record<string, string>, body: unknown): Asked => {
    return { method: 'POST', path, headers, status, body: typeof body === 'string' ? body : JSON.stringify(body) }
  }
  const message = (part: object) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: 'soak', role: 'ROLE_USER', parts: [part] } },
  })
  return [
    get('/api/v1/company/104547', 402),
    get(LOOKUP_PATH, 200, kept),
    get('/api/v1/search?q=example%20trading&limit=3', 402),
    post('/api/v1/resolve', 402, json, { name: 'Example Trading Ltd', eircode: 'D02 X285' }),
    { ...get(LOOKUP_PATH, 200), isPaid: true },
    get('/api/v1/meta', 200),
    get('/attribution', 200),
    get('/docs', 200, { Accept: 'text/html', 'Accept-Encoding': 'br' }),
    get('/openapi.json', 200),
    get('/llms.txt', 200, { 'Accept-Encoding': 'gzip' }),
    post('/a2a', 200, a2a, message({ text: 'What do you sell?' })),
    post('/a2a', 402, a2a, message({ data: { operation: 'lookup', input: { company_number: '73848' } } })),
    get(LOOKUP_PATH, 402, { 'PAYMENT-SIGNATURE': 'bm9uZQ==' }),
    get('/api/v1/company/none', 400),
    get('/api/v1/search', 400),
    get('/nowhere', 404),
    { ...get(LOOKUP_PATH, 405), method: 'PUT' },
    post('/api/v1/resolve', 400, json, '{'),
    post('/a2a', 200, a2a, '{'),
  ]
}

async function extensionOf(url: string): Promise<string> {
  const response = await fetch(`${url}/.well-known/agent-card.json`)
  const card = (await response.json()) as { capabilities: { extensions: { uri: string }[] } }
  return card.capabilities.extensions[0]?.uri ?? ''
}

function report({ requests, seconds, p99, wrong }: Measured, samples: Sample[], isJudged: boolean): boolean {
  const third = (at: number) => samples.slice((samples.length * at) / 3, (samples.length * (at + 1)) / 3)
  const lines = (['heap', 'anonymous', 'resident'] as const).map((kind) => {
    const [middle, last] = [third(1), third(2)].map((part) => median(part.map((sample) => sample[kind])))
    const growth = slope([...third(1), ...third(2)].map((sample) => [sample.seconds / 60, sample[kind]]))
    const first = samples[0]?.[kind] ?? Number.NaN
    return { kind, growth: (last ?? 0) - (middle ?? 0), cells: [first, middle, last, growth] }
  })
  process.stdout.write(`${requests} mixed requests in ${Math.round(seconds)} s, p99 ${p99.toFixed(1)} ms\n\n`)
  const headings = ['memory, MiB', 'first sample', 'middle third', 'last third', 'a minute, fitted to both']
  const rows = lines.map(({ kind, cells }) => [kind, ...cells.map((cell) => (cell ?? Number.NaN).toFixed(2))])
  process.stdout.write(`${markdown(headings, rows)}\n`)
  for (const each of wrong) process.stdout.write(`WRONG: ${each}\n`)
  const isFlat = lines.every(({ kind, growth }) => kind !== 'heap' || growth < HEAP_GROWTH_MIB_MAX)
  const verdict = isFlat ? 'the heap is flat' : 'the heap GROWS'
  process.stdout.write(`${isJudged ? verdict : `not judged: it takes ${MINUTES_JUDGED_MIN} minutes`}\n`)
  return wrong.length === 0 && (isFlat || !isJudged)
}

/** Of the straight line with the least squares. */
function slope(points: (readonly [x: number, y: number])[]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const above = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0)
  return above / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
}
