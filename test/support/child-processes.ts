/** Finds child processes of a process, from the process table of Linux. */
import { readFile } from 'node:fs/promises'

export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

/** False for a process that has ended and that its parent has not waited for. */
export async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const state = /\) (\S)/.exec(stat)?.[1]
  return state !== undefined && state !== 'Z'
}
