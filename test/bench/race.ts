/**
 * `npm run bench -- race [--seconds S] [--workers W]`: W processes claim and advance the same records of one response log on
 * a real LMDB, some with payment ids that they contend for too, and each is killed (SIGKILL) at random and begun again. At
 * the end all that was acknowledged to any of them must be on record, once: the simulation replaces this log by a model.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openResponseLog } from '../../store/responses.ts'
import { judge, type Acknowledged } from './race/judge.ts'

const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const SECONDS_DEFAULT = '10'
const WORKERS_DEFAULT = '3'
const LIFE_MS = { min: 500, max: 3_000 }
const FAULTS_SHOWN = 20

interface Race {
  /** Of whose compiled tree the processes are; the judge is ours. */
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
  print(`${workers} processes on one response log for ${seconds} s, ${kills} kills`)
  print(`${countOf('claimed')} places given, ${countOf('held')} refused, ${countOf('advanced')} steps taken`)
  for (const fault of faults.slice(0, FAULTS_SHOWN)) print(`  ${fault}`)
  print(`${faults.length} faults`)
  return faults.length === 0 && countOf('advanced') > 0
}

export async function raceIn({ root, seconds, workers }: Race): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'race-'))
  try {
    const began = Date.now()
    const ends = began + seconds * 1000
    let kills = 0
    async function runner(worker: number): Promise<void> {
      for (let life = 0; Date.now() < ends; life += 1) {
        const child = start({ root, directory, path: join(directory, `${worker}-${life}.jsonl`), began, ends })
        const ended = once(child, 'exit')
        const lasts = LIFE_MS.min + Math.random() * (LIFE_MS.max - LIFE_MS.min)
        const isOver = await Promise.race([ended.then(() => true), sleep(lasts, false)])
        if (!isOver && Date.now() < ends && child.kill('SIGKILL')) kills += 1
        const [code] = (await ended) as [number | null]
        if (code !== null && code !== 0) throw new Error(`a process of the race ended with ${code}`)
      }
    }
    await Promise.all(Array.from({ length: workers }, (_, worker) => runner(worker)))
    const acknowledged = await readAll(directory)
    const log = openResponseLog(directory)
    try {
      return { kills, acknowledged, faults: await judge(log, acknowledged) }
    } finally {
      await log.close()
    }
  } finally {
    await rm(directory, { recursive: true })
  }
}

interface Start {
  root: string
  directory: string
  path: string
  began: number
  ends: number
}

function start({ root, directory, path, began, ends }: Start): ChildProcess {
  return fork(join(root, 'dist/test/bench/race/racer.js'), [directory, path, String(began), String(ends)])
}

async function readAll(directory: string): Promise<Acknowledged[]> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.jsonl'))
  const texts = await Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')))
  return texts.flatMap((text) => {
    // A kill may cut the last line short.
    const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
    return lines.filter(Boolean).map((line) => JSON.parse(line) as Acknowledged)
  })
}
