/** From the start of the process to its ready line, beside a Node.js process that does nothing. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ready, startChild } from '../../support/child.ts'
import { residentMemory } from '../load/server-process.ts'
import { median } from '../statistics.ts'
import { withBaseline, type MeasureRows } from './perf-row.ts'

interface Start {
  milliseconds: number
  memory: number
}

export const measureStart: MeasureRows = async ({ size, directory, register }) => {
  const { dataDirectory } = await register(size.importRows)
  const [empty, first, large] = [[] as Start[], [] as Start[], [] as Start[]]
  for (let run = 0; run < size.starts; run += 1) {
    empty.push(await startEmpty())
    const fresh = join(directory, 'fresh')
    first.push(await startService(fresh))
    await rm(fresh, { recursive: true })
    large.push(await startService(dataDirectory))
  }
  const time = (starts: Start[]) => median(starts.map(({ milliseconds }) => milliseconds))
  const baseline = { name: 'node -e ""', value: time(empty) }
  return [
    withBaseline('start new', time(first), baseline),
    withBaseline('start large', time(large), baseline),
    { id: 'start memory', value: median(large.map(({ memory }) => memory)) },
  ]
}

async function startEmpty(): Promise<Start> {
  const began = performance.now()
  await once(spawn(process.execPath, ['-e', '']), 'close')
  return { milliseconds: performance.now() - began, memory: Number.NaN }
}

async function startService(directory: string): Promise<Start> {
  const began = performance.now()
  const child = startChild('agent/main.js', ['serve'], { DATA_DIR: directory, PORT: '0', LOG_LEVEL: 'silent' })
  await ready(child)
  const milliseconds = performance.now() - began
  const memory = residentMemory(child.process.pid)
  child.process.kill('SIGTERM')
  await child.ended
  return { milliseconds, memory }
}
