/**
 * `npm run bench -- start [--runs N]`: from starting the process to its ready line, for a sandbox that makes everything
 * anew and for one that finds its data again, beside a Node process that does nothing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ready, startChild } from '../support/child.ts'

const RUNS_DEFAULT = '5'

export async function start({ runs = RUNS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const times: Record<string, number[]> = { 'node -e ""': [], 'first start': [], 'start again': [] }
  for (let run = 0; run < Number(runs); run += 1) {
    times['node -e ""']?.push(await bare())
    const directory = await mkdtemp(join(tmpdir(), 'start-'))
    times['first start']?.push(await serve(directory))
    times['start again']?.push(await serve(directory))
    await rm(directory, { recursive: true })
  }
  process.stdout.write(
    `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}\n`,
  )
  for (const [name, measured] of Object.entries(times)) {
    measured.sort((one, other) => one - other)
    const at = (share: number) => Math.round(measured[Math.floor((measured.length - 1) * share)] ?? Number.NaN)
    process.stdout.write(`${name.padEnd(12)} median ${at(0.5)} ms, slowest ${at(1)} ms of ${measured.length}\n`)
  }
  return true
}

async function bare(): Promise<number> {
  const began = performance.now()
  await once(spawn(process.execPath, ['-e', '']), 'close')
  return performance.now() - began
}

async function serve(directory: string): Promise<number> {
  const began = performance.now()
  const child = startChild('agent/main.js', ['serve'], { DATA_DIR: directory, PORT: '0', LOG_LEVEL: 'silent' })
  await ready(child)
  const elapsed = performance.now() - began
  child.process.kill('SIGTERM')
  await child.ended
  return elapsed
}
