/**
 * `npm run bench -- start [--runs N] [--rows N]`: from starting the process to its ready line, for a sandbox that makes
 * everything anew and for one that finds its data again, beside a Node process that does nothing; with `--rows` also for
 * one that finds a made-up register of that size. And what a process holds in memory when it is ready.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateCommand } from '../../agent/sandbox/generate-command.ts'
import { ready, startChild } from '../support/child.ts'

const RUNS_DEFAULT = '5'

interface Start {
  milliseconds: number
  /** In MiB; NaN where the system doesn't say. */
  memory: number
}

export async function start({ runs = RUNS_DEFAULT, rows }: Record<string, string>): Promise<boolean> {
  const starts = new Map<string, Start[]>()
  const add = (name: string, each: Start) => starts.set(name, [...(starts.get(name) ?? []), each])
  const large = rows === undefined ? undefined : await imported(rows)
  for (let run = 0; run < Number(runs); run += 1) {
    add('node -e ""', await bare())
    const directory = await mkdtemp(join(tmpdir(), 'start-'))
    add('first start', await serve(directory))
    add('start again', await serve(directory))
    await rm(directory, { recursive: true })
    if (large !== undefined) add(`${rows} rows`, await serve(large))
  }
  if (large !== undefined) await rm(large, { recursive: true })
  process.stdout.write(
    `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}\n`,
  )
  for (const [name, measured] of starts) {
    const times = measured.map(({ milliseconds }) => milliseconds).toSorted((one, other) => one - other)
    const at = (share: number) => Math.round(times[Math.floor((times.length - 1) * share)] ?? Number.NaN)
    const memory = Math.round(Math.max(...measured.map((each) => each.memory)))
    const held = Number.isNaN(memory) ? '' : `, at most ${memory} MiB when ready`
    process.stdout.write(`${name.padEnd(12)} median ${at(0.5)} ms, slowest ${at(1)} ms of ${times.length}${held}\n`)
  }
  return true
}

async function imported(rows: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'start-rows-'))
  const path = join(directory, 'register.zip')
  const args = ['--rows', rows, '--seed', '1', '--out', path]
  await generateCommand({ args, print: () => undefined, progress: () => undefined })
  const child = startChild('test/support/import-child.js', ['import', path, directory], {})
  if ((await child.ended) !== 0) throw new Error(child.stderr())
  return directory
}

async function bare(): Promise<Start> {
  const began = performance.now()
  await once(spawn(process.execPath, ['-e', '']), 'close')
  return { milliseconds: performance.now() - began, memory: Number.NaN }
}

/** What a process has in memory now, as Linux says it. */
async function memoryOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024
}

async function serve(directory: string): Promise<Start> {
  const began = performance.now()
  const child = startChild('agent/main.js', ['serve'], { DATA_DIR: directory, PORT: '0', LOG_LEVEL: 'silent' })
  await ready(child)
  const milliseconds = performance.now() - began
  const memory = await memoryOf(child.process.pid)
  child.process.kill('SIGTERM')
  await child.ended
  return { milliseconds, memory }
}
