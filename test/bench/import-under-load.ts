/**
 * `npm run bench -- import-under-load [--rows N] [--seconds N]`: what buyers notice of an import. A service in a process
 * of its own is sent replays and paid lookups at a steady rate, whether or not it has answered the ones before; first
 * while it does nothing else, then while it imports in its thread as it does daily. Says the latencies of both and their
 * ratios. Fails when a request failed, or an answer mixed two snapshots.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateCommand } from '../../agent/sandbox/generate-command.ts'
import { snapshotFolder } from '../../store/layout.ts'
import { openCsv } from '../../store/import/archive.ts'
import { readRows } from '../../store/import/rows.ts'
import { openSnapshot } from '../../store/snapshot.ts'
import { ready, startChild, type Child } from '../support/child.ts'
import { header, signedPayment } from '../support/payments.ts'

const ROWS_DEFAULT = '200000'
const SECONDS_DEFAULT = '10'
/** Half of them replays, half of them lookups with a payment each. */
const REQUESTS_PER_SECOND = 100
/** Enough that a 99th percentile is more than the worst of a few: two archives, in turn. */
const IMPORTS = 3
/** Far above any import of the default size; what runs into it has failed. */
const IMPORT_SECONDS_MAX = 100
/** How many numbers are looked up in turn, found among so many rows of each archive. */
const NUMBERS = 200
const ROWS_LOOKED_AT = 10_000
const REPLAYS = 20

interface Answer {
  kind: 'replay' | 'lookup'
  number: string
  sentAt: number
  milliseconds: number
  status: number
  body: string
}

interface Body {
  snapshot_id: string
  company: { company_number: string; legal_name: string }
}

export async function importUnderLoad(options: Record<string, string>): Promise<boolean> {
  const { rows = ROWS_DEFAULT, seconds = SECONDS_DEFAULT } = options
  const directory = await mkdtemp(join(tmpdir(), 'import-under-load-'))
  const archives = await Promise.all(['1', '2'].map((seed) => generated(join(directory, `${seed}.zip`), rows, seed)))
  const path = join(directory, 'register.zip')
  await copyFile(archives[0] ?? '', path)
  const child = startChild('test/support/busy-service.js', [], {
    DATA_DIR: join(directory, 'data'),
    DATASET: path,
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '1000000',
  })
  try {
    const client = await openClient(await ready(child), join(directory, 'data'), archives)
    // A first second warms both sides up and counts for nothing.
    await client.load(() => sleep(1_000))
    const idle = await client.load(() => sleep(Number(seconds) * 1000))
    const busy = await client.load(async () => {
      for (let count = 1; count <= IMPORTS; count += 1) {
        await copyFile(archives[count % archives.length] ?? '', path)
        await imported(child)
      }
    })
    return report({ rows, idle, busy, mixed: await client.mixed([...idle, ...busy]) })
  } finally {
    child.process.kill('SIGTERM')
    await child.ended
    await rm(directory, { recursive: true })
  }
}

async function generated(path: string, rows: string, seed: string): Promise<string> {
  const args = ['--rows', rows, '--seed', seed, '--out', path]
  await generateCommand({ args, print: () => undefined, progress: () => undefined })
  return path
}

async function imported({ process: service, said }: Child): Promise<void> {
  const before = said.get('retrieval')
  service.kill('SIGUSR2')
  for (const until = performance.now() + IMPORT_SECONDS_MAX * 1000; said.get('retrieval') === before;) {
    if (performance.now() > until) throw new Error('an import did not end')
    await sleep(10)
  }
}

async function openClient(url: string, dataDirectory: string, archives: string[]) {
  const numbers = await soldNumbers(archives)
  const kept = await Promise.all(
    numbers.slice(0, REPLAYS).map(async (number) => ({ number, payment: header(await signedPayment()) })),
  )
  for (const { number, payment } of kept) await ask(url, 'lookup', number, payment)
  let sent = 0

  async function send(): Promise<Answer> {
    const turn = (sent += 1)
    if (turn % 2 === 0) {
      const { number, payment } = kept[turn % kept.length] as (typeof kept)[number]
      return ask(url, 'replay', number, payment)
    }
    // Signing is the buyer's work, and done before the clock starts.
    const payment = header(await signedPayment())
    return ask(url, 'lookup', numbers[turn % numbers.length] as string, payment)
  }

  return {
    /** Sends at the steady rate for as long as the work takes; answers what came back. */
    async load(work: () => Promise<unknown>): Promise<Answer[]> {
      const answers: Promise<Answer>[] = []
      const over = new AbortController()
      const working = work().finally(() => over.abort())
      const began = performance.now()
      while (!over.signal.aborted) {
        const due = began + (answers.length * 1000) / REQUESTS_PER_SECOND
        await sleep(Math.max(0, due - performance.now()))
        answers.push(send())
      }
      await working
      return Promise.all(answers)
    },

    /** Answers that are not what their own snapshot holds, or of an older snapshot than one that was answered before. */
    async mixed(answers: Answer[]): Promise<number> {
      const snapshots = new Map<string, ReturnType<typeof openSnapshot>>()
      let wrong = 0
      for (const { status, number, body } of answers) {
        if (status !== 200) continue
        const { snapshot_id, company } = JSON.parse(body) as Body
        const snapshot = snapshots.get(snapshot_id) ?? openSnapshot(snapshotFolder(dataDirectory, snapshot_id))
        snapshots.set(snapshot_id, snapshot)
        const entry = snapshot.find(number)
        const isSame = entry !== undefined && entry !== 'quarantined' && entry.legal_name === company.legal_name
        if (!isSame) wrong += 1
      }
      await Promise.all([...snapshots.values()].map((snapshot) => snapshot.close()))
      return wrong
    },
  }
}

/** Numbers that both archives have, under different names, so that a mixture shows. */
async function soldNumbers([one = '', other = '']: string[]): Promise<string[]> {
  const [names, otherNames] = await Promise.all([namesIn(one), namesIn(other)])
  const shared = [...names].filter(([number, name]) => otherNames.has(number) && otherNames.get(number) !== name)
  return shared.slice(0, NUMBERS).map(([number]) => number)
}

async function namesIn(path: string): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for await (const some of readRows(await openCsv(path))) {
    for (const read of some) {
      if (read.kind !== 'row') continue
      const { company_num: number, company_name: name } = read.row
      // A number a second time may be quarantined.
      names.set(number, names.has(number) ? '' : name)
    }
    if (names.size > ROWS_LOOKED_AT) break
  }
  return new Map([...names].filter(([number, name]) => /^[0-9]+$/.test(number) && name !== ''))
}

async function ask(url: string, kind: Answer['kind'], number: string, payment: string): Promise<Answer> {
  const sentAt = performance.now()
  const response = await fetch(`${url}/api/v1/company/${number}`, { headers: { 'PAYMENT-SIGNATURE': payment } })
  const body = await response.text()
  return { kind, number, sentAt, milliseconds: performance.now() - sentAt, status: response.status, body }
}

interface Result {
  rows: string
  idle: Answer[]
  busy: Answer[]
  mixed: number
}

function report({ rows, idle, busy, mixed }: Result): boolean {
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  print(`${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}`)
  print(`${REQUESTS_PER_SECOND} requests/s; ${IMPORTS} imports of ${rows} rows`)
  for (const kind of ['replay', 'lookup'] as const) {
    const [alone, beside] = [idle, busy].map((answers) => latencies(answers, kind)) as [Latencies, Latencies]
    print(`${kind} idle          ${describe(alone)}`)
    print(`${kind} during import ${describe(beside)}`)
    print(
      `${kind} ratio         p50 ${(beside.p50 / alone.p50).toFixed(2)}, p99 ${(beside.p99 / alone.p99).toFixed(2)}`,
    )
  }
  const failed = [...idle, ...busy].filter(({ status }) => status !== 200)
  if (failed[0]) print(`first failure: ${failed[0].status} ${failed[0].kind} ${failed[0].body}`)
  print(`${failed.length} of ${idle.length + busy.length} failed, ${mixed} mixed two snapshots`)
  return failed.length === 0 && mixed === 0 && snapshotsOf(busy) > 1
}

/** How many snapshots were sold: with one alone there was no switch to judge. */
function snapshotsOf(answers: Answer[]): number {
  const sold = answers.filter(({ kind, status }) => kind === 'lookup' && status === 200)
  return new Set(sold.map(({ body }) => (JSON.parse(body) as Body).snapshot_id)).size
}

type Latencies = ReturnType<typeof latencies>

function latencies(answers: Answer[], kind: Answer['kind']) {
  const times = answers.filter((answer) => answer.kind === kind).map(({ milliseconds }) => milliseconds)
  times.sort((one, other) => one - other)
  const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? Number.NaN
  return { count: times.length, p50: at(0.5), p99: at(0.99), worst: at(1) }
}

function describe({ count, p50, p99, worst }: Latencies): string {
  return `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, worst ${worst.toFixed(2)} ms of ${count}`
}
