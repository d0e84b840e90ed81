/** The command of strace that kills a process before a system call, and what its trace says. */
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { print } from '../report.ts'

/** Whether strace works. Some containers forbid it. Otherwise prints what is skipped. */
export function canTrace(skipped: string): boolean {
  const isTracing = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0
  if (!isTracing) print(`SKIPPED: strace is not installed or may not trace, so ${skipped}`)
  return isTracing
}

/** Prints the process id of a traced program, because strace does not forward signals. */
export const PRINTS_ID = ['sh', '-c', 'echo "pid $$"; exec "$@"', 'sh']

/** A process dies before the call with this number, counted in each of its threads. */
export interface Death {
  call: string
  at: number
  /** What strace does to the call instead of a kill. */
  what?: string
}

/** What survives a process, and what others receive. */
const CALLS = 'write,writev,pwrite64,pwritev,sendto,sendmsg,ftruncate,fsync,fdatasync,msync,rename,link,unlink'

/** The environment in which the calls for files have the same numbers in each run. */
export const ONE_THREAD = { UV_THREADPOOL_SIZE: '1' }

/** The options of strace, without the program. Without a death, records the calls. */
export function strace(trace: string, death?: Death): string[] {
  const what = death ? [`inject=${death.call}:${death.what ?? 'signal=KILL'}:when=${death.at}`] : [`trace=${CALLS}`]
  return ['strace', '-f', '-o', trace, ...(death ? ['-e', `trace=${death.call}`] : []), '-e', ...what]
}

/** The largest number of calls that a thread made, by the name of the call. */
export async function readPoints(trace: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const [, thread = '', call = ''] of (await readFile(trace, 'latin1')).matchAll(/^(\d+) +(\w+)\(/gm))
    counts.set(`${thread} ${call}`, (counts.get(`${thread} ${call}`) ?? 0) + 1)
  const points = new Map<string, number>()
  for (const [key, count] of counts) {
    const call = key.slice(key.indexOf(' ') + 1)
    points.set(call, Math.max(count, points.get(call) ?? 0))
  }
  return points
}

export async function wasKilled(trace: string): Promise<boolean> {
  return (await readFile(trace, 'latin1')).includes('+++ killed by SIGKILL +++')
}
