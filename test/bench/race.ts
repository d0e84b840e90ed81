/**
 * `bench race [--seconds N] [--workers N]`: processes claim and advance the same records of one response log on a real
 * LMDB, and contend for payment ids. Each is killed (SIGKILL) at random times and restarted. At the end the log must hold
 * every acknowledged change once. The simulation replaces this log by a model.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openResponseLog } from '../../store/responses.ts'
import { checkLog, type Acknowledged } from './race/check-log.ts'

const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const SECONDS_DEFAULT = '10'
const WORKERS_DEFAULT = '3'
const LIFETIME_MS = { min: 500, max: 3_000 }
/** Longer than the last batch of calls can take. A process that runs longer is stuck. */
const GRACE_MS = 20_000
const FAULTS_SHOWN = 20

interface Race {
  /** The compiled tree that the processes run. The checks are those of this tree. */
  root: string
  seconds: number
  workers: number
}

interface Result {
  kills: number
  acknowledged: Acknowledged[]
  faults: string[]
}

export async function race(options: Record<string, string>): Promise<boolean> {
  const { seconds = SECONDS_DEFAULT, workers = WORKERS_DEFAULT } = options
  const { kills, acknowledged, faults } = await raceIn({
    root: ROOT,
    seconds: Number(seconds),
    workers: Number(workers),
  })
  const countOf = (kind: Acknowledged['kind']) => acknowledged.filter((each) => each.kind === kind).length
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  print(`${countOf('claimed')} claims granted, ${countOf('held')} refused, ${countOf('advanced')} changes made`)
  for (const fault of faults.slice(0, FAULTS_SHOWN)) print(`  ${fault}`)
  print(`${workers} processes on one response log for ${seconds} s, ${kills} kills, ${faults.length} faults`)
  return faults.length === 0 && kills > 0 && countOf('advanced') > 0
}

export async function raceIn({ root, seconds, workers }: Race): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'race-'))
  try {
    const began = Date.now()
    const ends = began + seconds * 1000
    const runs = await Promise.all(
      Array.from({ length: workers }, (_, worker) => run({ root, directory, worker, began, ends })),
    )
    const acknowledged = await readAll(directory)
    const log = openResponseLog(directory)
    try {
      const faults = [...runs.flatMap((each) => each.faults), ...(await checkLog(log, acknowledged))]
      return { kills: runs.reduce((sum, each) => sum + each.kills, 0), acknowledged, faults }
    } finally {
      await log.close()
    }
  } finally {
    await rm(directory, { recursive: true })
  }
}

interface Run {
  root: string
  directory: string
  worker: number
  began: number
  ends: number
}

/** Restarts the process after each kill, until the race is over or a process fails. */
async function run({ root, directory, worker, began, ends }: Run): Promise<{ kills: number; faults: string[] }> {
  const program = join(root, 'dist/test/programs/race-writer.js')
  for (let kills = 0; ; kills += 1) {
    const path = join(directory, `${worker}-${kills}.jsonl`)
    const child = fork(program, [directory, path, String(began), String(ends)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let said = ''
    child.stderr?.on('data', (text: Buffer) => (said += text.toString()))
    const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    const isOver = () => ended.then(() => true)
    const lifetime = LIFETIME_MS.min + Math.random() * (LIFETIME_MS.max - LIFETIME_MS.min)
    const mustKill = !(await Promise.race([isOver(), sleep(lifetime, false, { ref: false })])) && Date.now() < ends
    const isStuck =
      !mustKill && !(await Promise.race([isOver(), sleep(ends + GRACE_MS - Date.now(), false, { ref: false })]))
    if (mustKill || isStuck) child.kill('SIGKILL')
    const [code, signal] = await ended
    if (isStuck) return { kills, faults: ['a process does not exit'] }
    const isInOrder = code === 0 || (mustKill && signal === 'SIGKILL')
    if (!isInOrder) return { kills, faults: [`a process exited with ${signal ?? code}: ${errorIn(said)}`] }
    if (!mustKill) return { kills, faults: [] }
  }
}

const errorIn = (text: string) => text.split('\n').find((line) => line.includes('Error')) ?? ''

async function readAll(directory: string): Promise<Acknowledged[]> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.jsonl'))
  const texts = await Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')))
  return texts.flatMap((text) => {
    // A kill may cut the last line short.
    const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
    return lines.filter(Boolean).map((line) => JSON.parse(line) as Acknowledged)
  })
}
