/**
 * `bench order`: one sale over HTTP by the real service under strace. `prepared` must be written and synced before the
 * first byte of `/settle` is sent, and `settled` before the response. Kills cannot show this, because the kernel keeps
 * the writes of a killed process. Reports that it was skipped if strace cannot run.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ready, startChild } from '../support/child.ts'
import { REGISTER } from '../support/fixtures.ts'
import { header, signedPayment } from '../support/payments.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { openRemotes, remotesEnvironment } from '../support/remotes/server.ts'
import { canTrace, PRINTS_ID } from './crash/trace.ts'
import { print } from './report.ts'

const CALLS = 'write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,fsync,fdatasync,msync,openat'
const STRING_BYTES_MAX = '40000'
const SETTLE_MS_MAX = 200

export async function order(): Promise<boolean> {
  if (!canTrace('the order of writes was not checked')) return false
  const directory = await makeTemporaryDirectory()
  const trace = join(directory, 'trace')
  // A delay gives a sync that began too late the time to appear in the trace.
  await using remotes = await openRemotes({ unfinalBlocks: 1, settleMsMax: SETTLE_MS_MAX })
  await sellUnder(trace, { DATA_DIR: join(directory, 'data'), ...remotesEnvironment(remotes.url) })
  const faults = findFaults(eventsOf(await readFile(trace, 'latin1')))
  for (const fault of faults) print(fault)
  if (faults.length === 0)
    print('prepared: written and synced before the first byte of /settle; settled: before the response')
  return faults.length === 0
}

async function sellUnder(trace: string, environment: Record<string, string>): Promise<void> {
  const strace = ['strace', '-f', '-qq', '-y', '-s', STRING_BYTES_MAX, '-e', `trace=${CALLS}`, '-o', trace]
  const own = { DATASET: REGISTER, PORT: '0', LOG_LEVEL: 'silent' }
  const child = startChild('operator/main.js', ['serve'], { ...environment, ...own }, [...strace, ...PRINTS_ID])
  try {
    const headers = { 'PAYMENT-SIGNATURE': header(await signedPayment()) }
    const response = await fetch(`${await ready(child)}/api/v1/company/00000000`, { headers })
    if (response.status !== 200) throw new Error(`The sale got ${response.status}: ${await response.text()}`)
    await response.arrayBuffer()
  } finally {
    const id = child.said.get('pid')
    if (id !== undefined && child.process.exitCode === null) process.kill(Number(id), 'SIGTERM')
    await child.ended
  }
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
      if (call) Object.assign(call, { ended: at, text: call.text + rest })
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
const isOpened = ({ name, text }: SystemCall) => name === 'openat' && /responses\/data\.mdb", .*O_DSYNC/.test(text)
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

function faultsOf(
  calls: readonly SystemCall[],
  { state, before, what }: { state: string; before: SystemCall; what: string },
): string[] {
  const written = calls.find((call) => isData(call) && !isSync(call) && call.text.includes(holds(state)))
  if (!written) return [`${state} was never written`]
  if (written.ended >= before.began) return [`${state} was not written before ${what}`]
  const synced = calls.find((call) => isSync(call) && isData(call) && call.began > written.ended)
  if (!synced || synced.ended >= before.began) return [`${state} was not synced before ${what}`]
  // LMDB then writes the page that makes the transaction valid, through a descriptor whose writes are synced.
  const [, opened] = / = (\d+)</.exec(calls.find(isOpened)?.text ?? '') ?? []
  const valid = calls.find((call) => call.text.startsWith(`pwrite64(${opened}<`) && call.began > synced.ended)
  return valid && valid.ended < before.began ? [] : [`${state} was not made valid before ${what}`]
}
