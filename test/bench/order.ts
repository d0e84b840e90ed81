/**
 * `bench order`: one sale over HTTP by the real service under strace. `prepared` must be written and synced before the
 * first byte of `/settle` is sent, and `settled` before the response. Kills cannot show this, because the kernel keeps the
 * writes of a killed process. Reports that it was skipped if strace cannot run.
 */
import { spawnSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildTerms } from '../../agent/payments/terms.ts'
import { REGISTER } from '../support/fixtures.ts'
import { header, signedPayment } from '../support/payments.ts'

const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const PAY_TO = '0x00000000000000000000000000000000000000c2'
const CALLS = 'write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,fsync,fdatasync,msync,sync_file_range'
/** For a start under strace on a loaded machine. */
const START_MS_MAX = 60_000
const STRING_BYTES_MAX = '40000'

export async function order(): Promise<boolean> {
  const faults = await orderIn(ROOT)
  if (faults === undefined) {
    process.stdout.write('SKIPPED: strace is not installed or may not trace, so the order of writes was not checked\n')
    return true
  }
  for (const fault of faults) process.stdout.write(`${fault}\n`)
  if (faults.length === 0)
    process.stdout.write(
      'prepared: written and synced before the first byte of /settle; settled: before the response\n',
    )
  return faults.length === 0
}

/** @returns the faults of the compiled tree in a folder; undefined if strace cannot run */
export async function orderIn(root: string): Promise<string[] | undefined> {
  // Some containers forbid tracing.
  if (spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status !== 0) return undefined
  const directory = await mkdtemp(join(tmpdir(), 'order-'))
  const stub = await openStub()
  try {
    const trace = join(directory, 'trace')
    await sellUnder(trace, { root, directory, stubUrl: urlOf(stub) })
    return findFaults(eventsOf(await readFile(trace, 'latin1')))
  } finally {
    stub.close()
    stub.closeAllConnections()
    await rm(directory, { recursive: true })
  }
}

interface OrderOptions {
  root: string
  directory: string
  /** The URL of a stub that is both facilitator and node. */
  stubUrl: string
}

async function sellUnder(trace: string, { root, directory, stubUrl }: OrderOptions): Promise<void> {
  const main = join(root, 'dist/agent/main.js')
  const strace = ['-f', '-qq', '-y', '-s', STRING_BYTES_MAX, '-e', `trace=${CALLS}`, '-o', trace]
  // strace does not forward signals, so the service prints its process id.
  const service = ['sh', '-c', 'echo "pid $$"; exec "$@"', 'sh', process.execPath, main, 'serve']
  const child = spawn('strace', [...strace, ...service], {
    env: {
      PATH: process.env['PATH'] ?? '',
      DATA_DIR: join(directory, 'data'),
      FACILITATOR: stubUrl,
      RPC_URL: stubUrl,
      PAY_TO,
      DATASET: REGISTER,
      PORT: '0',
      LOG_LEVEL: 'silent',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const closed = once(child, 'close')
  const said = { text: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (said.text += text))
  try {
    const url = await Promise.race([readyUrl(said), closed.then(() => Promise.reject(new Error('The service exited')))])
    const payment = await signedPayment({ terms: buildTerms('testnet', PAY_TO) })
    const response = await fetch(`${url}/api/v1/company/00000000`, {
      headers: { 'PAYMENT-SIGNATURE': header(payment) },
    })
    if (response.status !== 200) throw new Error(`The sale got ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
  } finally {
    const id = /^pid (\d+)$/m.exec(said.text)?.[1]
    if (id !== undefined && child.exitCode === null) process.kill(Number(id), 'SIGTERM')
    await closed
  }
}

async function readyUrl(said: { text: string }): Promise<string> {
  const end = performance.now() + START_MS_MAX
  while (performance.now() < end) {
    const url = /^ready (\S+)$/m.exec(said.text)?.[1]
    if (url !== undefined) return url
    await sleep(50)
  }
  throw new Error('The service did not start')
}

/** A system call, with the lines of the trace at which it began and ended. */
interface SystemCall {
  name: string
  text: string
  began: number
  ended: number
}

/** strace splits overlapping calls of threads into two lines. */
function eventsOf(trace: string): SystemCall[] {
  const calls: SystemCall[] = []
  const open = new Map<string, SystemCall>()
  for (const [at, line] of trace.split('\n').entries()) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    const resumed = /^<\.\.\. (\w+) resumed>/.exec(rest)
    const begun = resumed ? undefined : /^(\w+)\(/.exec(rest)
    if (resumed) {
      const call = open.get(thread)
      if (call) call.ended = at
      open.delete(thread)
    } else if (begun) {
      const isOpen = rest.endsWith('<unfinished ...>')
      const call = { name: begun[1] ?? '', text: rest, began: at, ended: isOpen ? Infinity : at }
      calls.push(call)
      if (isOpen) open.set(thread, call)
    }
  }
  return calls
}

/** The state of a record on disk, as strace escapes it. */
const holds = (state: string) => `\\"state\\":\\"${state}\\"`
const isData = ({ text }: SystemCall) => /responses\/data\.mdb>/.test(text)
const isSync = ({ name }: SystemCall) => ['fsync', 'fdatasync', 'msync'].includes(name)
const isSent = ({ name }: SystemCall) => ['write', 'writev', 'sendto', 'sendmsg'].includes(name)

function findFaults(calls: readonly SystemCall[]): string[] {
  const settle = calls.find((call) => isSent(call) && call.text.includes('POST /settle'))
  const answer = calls.find((call) => isSent(call) && call.text.includes('HTTP/1.1 200'))
  if (!settle || !answer) return ['the trace has no /settle request or no response']
  return [
    ...faultsOf(calls, { state: 'prepared', before: settle, what: '/settle' }),
    ...faultsOf(calls, { state: 'settled', before: answer, what: 'the response' }),
  ]
}

interface Wanted {
  state: string
  before: SystemCall
  what: string
}

function faultsOf(calls: readonly SystemCall[], { state, before, what }: Wanted): string[] {
  const written = calls.find((call) => isData(call) && !isSync(call) && call.text.includes(holds(state)))
  if (!written) return [`${state} was never written`]
  if (written.ended >= before.began) return [`${state} was not written before ${what}`]
  const synced = calls.find((call) => isSync(call) && isData(call) && call.began > written.ended)
  return synced && synced.ended < before.began ? [] : [`${state} was not synced before ${what}`]
}

/** A facilitator, and a node whose chain has no transactions. */
async function openStub(): Promise<Server> {
  const server = createServer((request, response) => {
    void json(request).then(async (body) => {
      // Gives a sync that began too late the time to appear in the trace.
      if (request.url === '/settle') await sleep(50)
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(replyTo(request.url, body)))
      return undefined
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const BLOCK = { number: '0x10', hash: `0x${'11'.repeat(32)}`, timestamp: '0x1' }
const RESULTS = new Map<string, unknown>([
  ['eth_chainId', '0x14a34'],
  ['eth_blockNumber', BLOCK.number],
  ['eth_getBlockByNumber', BLOCK],
  ['eth_call', `0x${'0'.repeat(64)}`],
])

function replyTo(url: string | undefined, body: unknown): unknown {
  if (url === '/verify' || url === '/settle') {
    const { paymentPayload } = body as { paymentPayload: { payload: { authorization: { from: string } } } }
    const payer = paymentPayload.payload.authorization.from
    if (url === '/verify') return { isValid: true, payer }
    return { success: true, transaction: `0x${'ab'.repeat(32)}`, network: 'eip155:84532', payer }
  }
  const { id, method } = body as { id: number; method: string }
  return { jsonrpc: '2.0', id, result: RESULTS.get(method) ?? null }
}
