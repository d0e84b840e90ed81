/**
 * `npm run bench -- http --connections N`: a service whose connections are held by clients that say nothing, that send a
 * byte of a head each second, and that keep theirs after an answer; how soon another is answered meanwhile, and what is
 * left in memory once the service's own time limits have ended them all. Short runs leave out the last kind, which is kept
 * for 65 s.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf, openFilesMax, startService } from './processes.ts'

const KINDS = ['silent', 'slow', 'kept'] as const
type Kind = (typeof KINDS)[number]

/** Fewer are a short run. */
const ALL_KINDS_MIN = 1_000
/** Opened at the same time: the queue of those not yet accepted holds 511. */
const BATCH = 200
/** What a process has open besides. */
const OTHER_FILES = 200
const DRIP_MS = 1_000
const ANSWER_MS_MAX = 30_000
const RETRY_MS = 50
/** Above every time limit of the service. */
const ENDED_MS_MAX = 120_000
/** A connection's leavings, were there any, would be a few KiB each. */
const LEFT_BYTES_PER_CONNECTION_MAX = 256
const LEFT_MIB_MAX = 2

const ASKED = 'GET /attribution HTTP/1.1\r\nHost: bench\r\n'

interface Held {
  kind: Kind
  socket: Socket
  /** The first status that came. */
  status: string | undefined
  isOpen: boolean
}

export async function holdConnections(wanted: number): Promise<boolean> {
  const files = openFilesMax()
  const count = Number.isNaN(files) ? wanted : Math.min(wanted, files - OTHER_FILES)
  process.stdout.write(`${files} open files allowed to a process; ${count} connections of ${wanted}\n`)
  const service = await startService()
  const port = Number(new URL(service.url).port)
  try {
    await answered(port)
    const before = await memoryOf(service.process)
    const held = await hold(port, count)
    await sleep(DRIP_MS)
    const full = await memoryOf(service.process)
    const open = held.filter(({ isOpen }) => isOpen).length
    const unanswered = held.filter(({ isOpen, status }) => !isOpen && status === undefined).length
    process.stdout.write(`${open} open, ${unanswered} closed unanswered, ${count - open - unanswered} at their end\n`)
    const meanwhile = await answered(port)
    process.stdout.write(`another is answered ${meanwhile}\n`)
    const seconds = await ended(held)
    for (const kind of KINDS) tell(kind, held)
    const after = await memoryOf(service.process)
    const afterwards = await answered(port)
    process.stdout.write(`all are closed after ${seconds} s; another is answered ${afterwards}\n`)
    for (const name of ['heap', 'anonymous'] as const) {
      const [first, most, last] = [before, full, after].map((memory) => memory[name].toFixed(1))
      process.stdout.write(`${name} memory: ${first} MiB before, ${most} with all open, ${last} after\n`)
    }
    const leftMax = LEFT_MIB_MAX + (count * LEFT_BYTES_PER_CONNECTION_MAX) / 2 ** 20
    return meanwhile !== undefined && afterwards !== undefined && after.heap - before.heap < leftMax
  } finally {
    await service.stop()
  }
}

async function hold(port: number, count: number): Promise<Held[]> {
  const kinds = count < ALL_KINDS_MIN ? KINDS.slice(0, 2) : KINDS
  const held: Held[] = []
  while (held.length < count) {
    const batch = Array.from({ length: Math.min(BATCH, count - held.length) }, (_, at) => {
      return holdOne(port, kinds[(held.length + at) % kinds.length] ?? 'silent')
    })
    held.push(...(await Promise.all(batch)))
  }
  return held
}

function holdOne(port: number, kind: Kind): Promise<Held> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const held: Held = { kind, socket, status: undefined, isOpen: true }
    let drip: NodeJS.Timeout | undefined
    socket.once('connect', () => {
      if (kind === 'slow') {
        socket.write(`${ASKED}X: `)
        drip = setInterval(() => socket.write('a'), DRIP_MS)
      }
      if (kind === 'kept') socket.write(`${ASKED}\r\n`)
      resolve(held)
    })
    socket.on('data', (bytes: Buffer) => (held.status ??= bytes.toString('latin1', 9, 12)))
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearInterval(drip)
      held.isOpen = false
      resolve(held)
    })
  })
}

/** On a connection of its own, anew until there is an answer; undefined when there is none in time. */
async function answered(port: number): Promise<string | undefined> {
  const began = performance.now()
  for (let attempt = 1; performance.now() - began < ANSWER_MS_MAX; attempt += 1) {
    const one = await holdOne(port, 'kept')
    while (one.isOpen && one.status === undefined) await sleep(1)
    one.socket.destroy()
    if (one.status === '200') return `at attempt ${attempt}, after ${Math.round(performance.now() - began)} ms`
    await sleep(RETRY_MS)
  }
  return undefined
}

async function ended(held: Held[]): Promise<number> {
  const began = performance.now()
  while (held.some(({ isOpen }) => isOpen)) {
    if (performance.now() - began > ENDED_MS_MAX) throw new Error('A connection is still open')
    await sleep(RETRY_MS)
  }
  return Math.round((performance.now() - began) / 1000)
}

function tell(kind: Kind, held: Held[]): void {
  const statuses = new Map<string, number>()
  for (const each of held.filter((one) => one.kind === kind)) {
    const heard = each.status ?? 'nothing'
    statuses.set(heard, (statuses.get(heard) ?? 0) + 1)
  }
  const all = [...statuses].map(([status, times]) => `${status} x ${times}`).join(', ')
  if (all !== '') process.stdout.write(`${kind}: heard ${all}\n`)
}
