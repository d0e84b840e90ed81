/**
 * An import of a generated register, and starts of the service with it, from the start of the process to its ready line.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ready, startChild } from '../../support/child.ts'
import { residentMemory } from '../load/server-process.ts'
import { median } from '../statistics.ts'
import type { MeasureRows } from './perf-row.ts'

export const measureImport: MeasureRows = async ({ size, register }) => {
  const { cost } = await register(size.importRows)
  if (cost.rows !== size.importRows) throw new Error(`${cost.rows} of ${size.importRows} rows were imported`)
  return [
    { id: 'import cpu', value: cost.cpuSeconds },
    { id: 'import memory', value: cost.memory },
  ]
}

export const measureStart: MeasureRows = async ({ size, directory, register }) => {
  const { dataDirectory } = await register(size.importRows)
  const [first, large, memory] = [[] as number[], [] as number[], [] as number[]]
  for (let run = 0; run < size.starts; run += 1) {
    const fresh = join(directory, 'fresh')
    first.push((await startService(fresh)).milliseconds)
    await rm(fresh, { recursive: true })
    const started = await startService(dataDirectory)
    large.push(started.milliseconds)
    memory.push(started.memory)
  }
  return [
    { id: 'start new', value: median(first) },
    { id: 'start large', value: median(large) },
    { id: 'start memory', value: median(memory) },
  ]
}

async function startService(directory: string): Promise<{ milliseconds: number; memory: number }> {
  const began = performance.now()
  const child = startChild('agent/main.js', ['serve'], { DATA_DIR: directory, PORT: '0', LOG_LEVEL: 'silent' })
  await ready(child)
  const milliseconds = performance.now() - began
  const memory = residentMemory(child.process.pid)
  child.process.kill('SIGTERM')
  await child.ended
  return { milliseconds, memory }
}
