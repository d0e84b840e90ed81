/**
 * `bench order`: one sale over HTTP by the real service under strace. `prepared` must be written and synced before the
 * first byte of `/settle` is sent, and `settled` before the response. Kills cannot show this, because the kernel keeps the
 * writes of a killed process. Reports that it was skipped if strace cannot run.
 */
import { spawnSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { REGISTER } from '../support/fixtures.ts'
import { header, signedPayment } from '../support/payments.ts'
import { openRemotes, remotesEnvironment } from '../support/remotes/server.ts'

const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const CALLS = 'write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,fsync,fdatasync,msync,sync_file_range'
/** For a start under strace on a loaded machine. */
const START_MS_MAX = 60_000
const STRING_BYTES_MAX = '40000'
const SETTLE_MS_MAX = 200

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
async function orderIn(root: string): Promise<string[] | undefined> {
  // Some containers forbid tracing.
  if (spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status !== 0) return undefined
  const directory = await mkdtemp(join(tmpdir(), 'order-'))
  // A delay gives a sync that began too late the time to appear in the trace.
  await using remotes = await openRemotes({ unfinalBlocks: 1, settleMsMax: SETTLE_MS_MAX })
  try {
    const trace = join(directory, 'trace')
    await sellUnder(trace, { root, directory, remotesUrl: remotes.url })
    return findFaults(eventsOf(await readFile(trace, 'latin1')))
  } finally {
    await rm(directory, { recursive: true })
  }
}

interface OrderOptions {
  root: string
  directory: string
  /** The URL of the facilitator and the node. */
  remotesUrl: string
}

async function sellUnder(trace: string, { root, directory, remotesUrl }: OrderOptions): Promise<void> {
  const main = join(root, 'dist/agent/main.js')
  const strace = ['-f', '-qq', '-y', '-s', STRING_BYTES_MAX, '-e', `trace=${CALLS}`, '-o', trace]
  // strace does not forward signals, so the service prints its process id.
  const service = ['sh', '-c', 'echo "pid $$"; exec "$@"', 'sh', process.execPath, main, 'serve']
  const child = spawn('strace', [...strace, ...service], {
    env: {
      PATH: process.env['PATH'] ?? '',
      DATA_DIR: join(directory, 'data'),
      ...remotesEnvironment(remotesUrl),
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
    const payment = await signedPayment()
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
