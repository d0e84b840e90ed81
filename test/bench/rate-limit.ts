/**
 * `npm run bench -- rate-limit [--seconds N]`: what the shared rate limit costs a request, by the limit: when it lets one
 * in, and when it refuses one. Processor time of this process, on a window on disk that no other process uses.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { RateLimit } from '../../agent/executor/rate-limit.ts'
import { openWindow } from '../../store/window.ts'

const SECONDS_DEFAULT = '2'
const LIMITS = [120, 1_999, 10_000, 1_000_000]
/** Requests between two looks at the clock. */
const BATCH = 100
const MINUTE = 60_000

export async function rateLimit({ seconds = SECONDS_DEFAULT }: Record<string, string>): Promise<boolean> {
  const durationMs = Number(seconds) * 1000
  process.stdout.write(
    `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}\n`,
  )
  for (const perMinute of LIMITS) {
    // Slightly fewer than the limit, so that all are let in; and then many more, so that nearly all are refused.
    const letIn = await measure({ perMinute, durationMs, stepMs: (MINUTE / perMinute) * 1.02 })
    const refused = await measure({ perMinute, durationMs, stepMs: MINUTE / perMinute / 1_000 })
    process.stdout.write(
      `${String(perMinute).padStart(9)} a minute: ${told(letIn)}; asked a thousand times as much: ${told(refused)}\n`,
    )
  }
  return true
}

interface Cost {
  microseconds: number
  refused: number
}

function told({ microseconds, refused }: Cost): string {
  return `${microseconds.toFixed(2)} us of CPU a request, ${(refused * 100).toFixed(1)} % refused`
}

/** The clock is made up, and goes on by so much with each request. */
async function measure(load: { perMinute: number; durationMs: number; stepMs: number }): Promise<Cost> {
  const { perMinute, durationMs, stepMs } = load
  const directory = await mkdtemp(join(tmpdir(), 'bench-limit-'))
  const window = openWindow(directory)
  try {
    let time = Date.now()
    const limit = new RateLimit({ perMinute, now: () => new Date(time), window })
    const enter = () => {
      time += stepMs
      return 'kind' in limit.enter('unpaid')
    }
    // The window is full before the measurement begins.
    for (let filled = 0; filled < perMinute; filled += 1) enter()
    let asked = 0
    let refused = 0
    const before = process.cpuUsage()
    const began = performance.now()
    while (performance.now() - began < durationMs) {
      for (let each = 0; each < BATCH; each += 1) if (enter()) refused += 1
      asked += BATCH
    }
    const { user, system } = process.cpuUsage(before)
    return { microseconds: (user + system) / asked, refused: refused / asked }
  } finally {
    await window.close()
    await rm(directory, { recursive: true })
  }
}
